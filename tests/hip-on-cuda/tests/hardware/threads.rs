//! The storm of threads, on both tiers and in full.

use graphreel_testkit::{run, storm};

use super::conformance::{built::Built, captured::Captured};

macro_rules! storms {
    ($name:ident, $module:ident) => {
        mod $module {
            use super::*;

            #[test]
            fn captures_beside_everything() {
                run::<$name, _>("threads::captures_beside_everything", storm::captures_beside_everything);
            }

            #[test]
            fn replays_of_one_graph_from_many_threads() {
                let test = "threads::replays_of_one_graph_from_many_threads";
                run::<$name, _>(test, storm::replays_of_one_graph_from_many_threads);
            }
        }
    };
}

storms!(Captured, captured);
storms!(Built, built);

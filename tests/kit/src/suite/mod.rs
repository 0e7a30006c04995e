//! The suite's entries by topic. The list below is the only one: it makes the modules' tests and the macro for backends.

/// Makes `conformance!`, which turns every entry into a `#[test]` of the crate that uses it.
///
/// `$d` is a dollar sign: the macro that is made has a variable of its own.
macro_rules! registry {
    ($d:tt $($topic:ident { $($test:ident),* $(,)? })*) => {
        /// Every entry of the suite, as `topic::name`.
        pub const ENTRIES: &[&str] = &[$($(concat!(stringify!($topic), "::", stringify!($test)),)*)*];

        /// One `#[test]` for each entry of the suite, run on the fixture given.
        #[macro_export]
        macro_rules! conformance {
            ($d fixture:ident) => {
                $(mod $topic {
                    use super::$d fixture;
                    $(
                        #[test]
                        fn $test() {
                            let name = concat!(stringify!($topic), "::", stringify!($test));
                            $d crate::run::<$d fixture, _>(name, $d crate::suite::$topic::$test);
                        }
                    )*
                })*
            };
        }
    };
}

pub mod lifecycle;

registry! { $
    lifecycle { a_full_cycle_seals_a_graph_that_replays }
}

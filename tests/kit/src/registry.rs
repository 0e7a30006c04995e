//! How a list of entries becomes the modules' names and a macro for backends.

/// Makes `ENTRIES` and the macro `$macro!`, which turns every entry of module `$suite` into a `#[test]` of the crate that uses it.
///
/// `$d` is a dollar sign: the macro that is made has a variable of its own.
macro_rules! registry {
    ($d:tt $macro:ident $suite:ident $($topic:ident { $($test:ident),* $(,)? })*) => {
        /// Every entry of the suite, as `topic::name`.
        pub const ENTRIES: &[&str] = &[$($(concat!(stringify!($topic), "::", stringify!($test)),)*)*];

        /// One `#[test]` for each entry of the suite, run on the fixture given.
        #[macro_export]
        macro_rules! $macro {
            ($d fixture:ident) => {
                $(mod $topic {
                    use super::$d fixture;
                    $(
                        #[test]
                        fn $test() {
                            let name = concat!(stringify!($topic), "::", stringify!($test));
                            $d crate::$suite::run::<$d fixture, _>(name, $d crate::$suite::$topic::$test);
                        }
                    )*
                })*
            };
        }
    };
}

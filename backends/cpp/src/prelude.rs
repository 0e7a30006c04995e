//! Stands in until the prelude joins.
pub(crate) const NAMES: &[&str] = &[];
pub(crate) fn text(_: crate::Dialect, _: crate::FloatMode, uses: &[&'static str]) -> String {
    format!("// {}\n", uses.join(" "))
}

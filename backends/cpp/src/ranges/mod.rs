//! Stands in until the analysis joins.
use naga::valid::ModuleInfo;
use naga::{Expression, Function, Handle, Module};
#[derive(Default)]
pub(crate) struct Proven {}
impl Proven {
    pub(crate) fn access(&self, _: Option<Handle<Function>>, _: Handle<Expression>) -> bool {
        false
    }
    pub(crate) fn divides(&self, _: Option<Handle<Function>>, _: Handle<Expression>) -> bool {
        false
    }
    pub(crate) fn shifts(&self, _: Option<Handle<Function>>, _: Handle<Expression>) -> bool {
        false
    }
}
pub(crate) fn prove(_: &Module, _: &ModuleInfo, _: Option<u32>) -> Proven {
    Proven {}
}

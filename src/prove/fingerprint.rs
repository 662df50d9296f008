use super::arena::{Arena, TermId};
pub fn agree(_: &Arena, _: TermId, _: TermId, _: u64) -> Option<bool> {
    None
}

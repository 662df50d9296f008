//! The grammar of the text, as the parser takes it.

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/mir.pest"]
pub(super) struct Grammar;

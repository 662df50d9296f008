//! What is said of a text that the grammar does not admit.

use pest::error::{Error, ErrorVariant, InputLocation};

use super::grammar::Rule;
use crate::ir::text::error::MirError;

/// `offset` is where the piece that was read starts in the text.
pub(super) fn syntax_error(error: Error<Rule>, offset: usize) -> MirError {
    let span = match error.location {
        InputLocation::Pos(at) => (offset + at, 0).into(),
        InputLocation::Span((start, end)) => (offset + start, end - start).into(),
    };
    let message = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            let mut wanted: Vec<&str> = positives.iter().map(describe).collect();
            wanted.sort_unstable();
            wanted.dedup();
            match wanted.as_slice() {
                [] => "this is not expected here".to_owned(),
                [one] => format!("expected {one}"),
                [most @ .., last] => format!("expected {} or {last}", most.join(", ")),
            }
        }
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let help = "names that are reserved words or hold other characters than letters, digits, `_` and `.` are quoted";
    MirError::Syntax { message, span, help: Some(help.to_owned()) }
}

/// What a reader of an error message calls a grammar rule.
fn describe(rule: &Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end of the file",
        Rule::identifier | Rule::name | Rule::binding | Rule::input | Rule::typed => "a name",
        Rule::returned | Rule::results | Rule::statement => "a name",
        Rule::word => "a word",
        Rule::tensor_type => "a type",
        Rule::string => "a string",
        Rule::float | Rule::integer | Rule::truth | Rule::scalar => "a number",
        Rule::numbers => "a list of numbers",
        Rule::constant => "a value",
        Rule::arguments => "`(`",
        Rule::operands => "an operand",
        Rule::attribute | Rule::attributes => "an attribute",
        Rule::equality => "`name = expression`",
        Rule::call => "a call",
        Rule::literal | Rule::kw_literal => "`literal`",
        Rule::opaque | Rule::kw_opaque => "`opaque`",
        Rule::origin => "`@`",
        Rule::frame | Rule::frames => "a source line",
        Rule::config | Rule::kw_config => "`config`",
        Rule::start | Rule::kw_graph => "`graph`",
        Rule::opening => "`) {`",
        Rule::next_input => "an input or `) {`",
        Rule::next_statement => "a statement or `return`",
        Rule::result | Rule::kw_return => "`return`",
        Rule::role | Rule::kw_param | Rule::kw_buffer => "a role",
        Rule::kw_as => "`as`",
        Rule::kw_in => "`in`",
        Rule::kw_from => "`from`",
        Rule::function | Rule::kw_fn => "`fn`",
        Rule::code | Rule::kw_code => "`code`",
        Rule::kw_implicit => "`implicit`",
        Rule::once | Rule::kw_once => "`once`",
        Rule::fixed | Rule::given => "a constant",
        Rule::target | Rule::place | Rule::loss | Rule::writes | Rule::gradient => "where it goes",
        Rule::kw_at | Rule::kw_loss | Rule::kw_writes | Rule::kw_gradient => "where it goes",
        Rule::path | Rule::field => "a path such as `.logits` or `[0]`",
        _ => "something else",
    }
}

//! Rule files in one layout: the words stay as they are written, blanks and line breaks become the same everywhere.

mod layout;
mod token;

use token::{Token, TokenKind};

use super::error::{Reporter, RuleError, RuleFile};
use super::parser;

/// The text of a rule file in the usual layout. Comments stay. A file that cannot be read is not touched: it gets the
/// diagnostics that loading it would give.
///
/// # Errors
/// What is wrong with the file, each with its place.
pub fn format(file: &std::sync::Arc<RuleFile>) -> Result<String, RuleError> {
    let (_, problems) = parser::parse(&Reporter { file: file.clone() });
    if !problems.is_empty() {
        return Err(RuleError { problems });
    }
    Ok(format_text(file.text()))
}

fn format_text(text: &str) -> String {
    let tokens = token::tokens(text);
    let mut out = String::new();
    let mut at = 0;
    let mut last_block = None;
    while at < tokens.len() {
        let start = at;
        at = end_of_block(&tokens, start);
        let block = &tokens[start..at];
        if !out.is_empty() && (block[0].blank_before || !is_comment(&block[0]) || ended_item(&tokens, start)) {
            // A comment right above an item stays there, and tests may follow one another.
            let comment = start > 0 && is_comment(&tokens[start - 1]);
            let tests = is_test(&block[0]) && last_block.is_some_and(|b: usize| is_test(&tokens[b]));
            if block[0].blank_before || !(comment || tests) {
                out.push('\n');
            }
        }
        last_block = Some(start);
        layout::block(block, &mut out);
    }
    out
}

fn is_comment(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Comment
}

fn is_test(token: &Token<'_>) -> bool {
    token.starts_item() && token.text == "test"
}

/// Whether an item ends in front of token `at`.
fn ended_item(tokens: &[Token<'_>], at: usize) -> bool {
    at > 0 && !is_comment(&tokens[at - 1])
}

/// The end of the block that starts at `start`: one comment line between items, or one item with its documentation.
fn end_of_block(tokens: &[Token<'_>], start: usize) -> usize {
    if is_comment(&tokens[start]) {
        return start + 1;
    }
    let mut at = start;
    // The item's own keyword and what stands above it.
    while at < tokens.len() && !tokens[at].starts_item() {
        at += 1;
    }
    at += 1;
    while at < tokens.len() && !tokens[at].starts_item() && tokens[at].kind != TokenKind::Doc {
        at += 1;
    }
    at = at.min(tokens.len());
    // Comments behind the last word belong to what follows, unless they stand on its line.
    while at > start + 1 && is_comment(&tokens[at - 1]) && tokens[at - 1].line_before {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str) -> String {
        let once = format(&RuleFile::new("x.rules", text)).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
        assert_eq!(format_text(&once), once, "not idempotent");
        let words = |text: &str| token::tokens(text).iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
        let text = text.replace("///   ", "/// ");
        let (mut before, mut after) = (words(&text), words(&once));
        let in_order = |words: &[String]| words.iter().filter(|w| !w.starts_with("//")).cloned().collect::<Vec<_>>();
        assert_eq!(in_order(&before), in_order(&after));
        before.sort();
        after.sort();
        assert_eq!(before, after, "a comment is lost");
        once
    }

    #[test]
    fn a_rule_gets_the_usual_layout() {
        let text = "///   Doc.\nrule  a[ exact ]:neg( neg(x) )=>x where rank( x )-1>0,dim(x,-1)==2*3 let n=dim(x,0)*2";
        let wanted = "/// Doc.\nrule a [exact]:\n    neg(neg(x)) => x\n    where rank(x) - 1 > 0, dim(x, -1) == 2 * 3\n    \
                      let n = dim(x, 0) * 2\n";
        assert_eq!(formatted(text), wanted);
    }

    #[test]
    fn ops_tests_templates_and_roots() {
        let text = "// File.\n\n/// Doc.\nop a.b(x,y;n)=\nmul( x , y )let h = n/2\ntest a.b{x:f32[2,3],y:[i64[],i64[2]],n=-1}\n\
                    /// D.\nrule t [approx( 1e-3 )] for f in add,sub: {f(x,y),f(y,x).0}<=>{f(xs[1:],y),concat([xs...];dim=0)}\n";
        let wanted = "// File.\n\n/// Doc.\nop a.b(x, y; n) =\n    mul(x, y)\n    let h = n / 2\n\n\
                      test a.b { x: f32[2, 3], y: [i64[], i64[2]], n=-1 }\n\n\
                      /// D.\nrule t [approx(1e-3)] for f in add, sub:\n    { f(x, y), f(y, x).0 } <=> { f(xs[1:], y), concat([xs...]; dim=0) }\n";
        assert_eq!(formatted(text), wanted);
    }

    #[test]
    fn lists_and_the_operator_where_stay_together() {
        let text = "/// D.\nrule a [real]: softmax(where(m,x,-1.0);dim=-1)=>conv2d(x,w;stride=[ 1,1 ],padding=[p-1,-p]) where (a or b) and n<=1.0/(k*k)\n";
        let wanted = "/// D.\nrule a [real]:\n    softmax(where(m, x, -1.0); dim=-1) => conv2d(x, w; stride=[1, 1], padding=[p - 1, -p])\n    \
                      where (a or b) and n <= 1.0 / (k * k)\n";
        assert_eq!(formatted(text), wanted);
    }

    #[test]
    fn tests_may_follow_one_another() {
        let text = "test a { x: f32[1] }\ntest a { x: f32[2] }\n\ntest a { x: f32[3] }\n";
        assert_eq!(formatted(text), text);
    }

    #[test]
    fn comments_stay_where_they_are() {
        let text = "// One.\n// Two.\n\n// Three.\n/// Doc.\nrule a [exact]: // behind the head\n    // above the side\n    \
                    neg(neg(x)) => // in the middle\n x\n    // above the clause\n    where rank(x) > 0 // behind the clause\n\n// End.\n";
        let wanted = "// One.\n// Two.\n\n// Three.\n/// Doc.\nrule a [exact]: // behind the head\n    // above the side\n    \
                      // in the middle\n    neg(neg(x)) => x\n    // above the clause\n    where rank(x) > 0 // behind the clause\n\n// End.\n";
        assert_eq!(formatted(text), wanted);
    }

    #[test]
    fn long_sides_break_in_front_of_the_arrow_and_behind_commas() {
        let long = "concat([slice(x; dim=d, start=s, end=m), slice(x; dim=d, start=m, end=e)]; dim=d)";
        let text = format!("/// Doc.\nrule a [exact]: {long} => {long} where {} == 0", vec!["rank(x)"; 20].join(" + "));
        let formatted = formatted(&text);
        assert!(formatted.contains(&format!("    {long}\n      => {long}\n")), "{formatted}");
        assert!(formatted.lines().all(|l| l.chars().count() <= 120), "{formatted}");
        let broken =
            format!("/// Doc.\nrule a [exact]: neg(concat([{}]; dim=d)) => neg(x)", ["slice(x; dim=d)"; 9].join(","));
        let margin = formatted_margin(&broken);
        assert_eq!(margin, "    neg(concat([".len());
    }

    /// Blanks in front of the second line of the side that is broken.
    fn formatted_margin(text: &str) -> usize {
        let text = formatted(text);
        let line = text.lines().nth(3).unwrap();
        line.len() - line.trim_start().len()
    }

    #[test]
    fn a_file_with_a_mistake_is_refused() {
        assert!(format(&RuleFile::new("x.rules", "rule a [exact]: neg(x => x")).is_err());
    }
}

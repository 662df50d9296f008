//! Adds an equivalence of one's own, and what proves with it.
//!
//! ```text
//! cargo run --example own_rule
//! ```

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::check::{Effort, check_from};
use magneton_ir::rules::{RuleFile, RuleSet};

/// What the library knows nothing of: an operator of a serving engine, defined by what it computes.
const RULES: &str = "
/// The activation of the engine: one half of the features opens the gate for the other one.
op engine.gated(x) = mul(silu(slice(x; dim=-1, start=0, end=h)), slice(x; dim=-1, start=h, end=2 * h))
    let h = dim(x, -1) / 2

test engine.gated { x: f32[2, 6] }
";

const PLAIN: &str = "
graph plain(x: f32[4, 6]) {
  gate = slice(x; dim=1, start=0, end=3)
  y = mul(mul(gate, sigmoid(gate)), slice(x; dim=1, start=3, end=6))
  return y
}";

const ENGINE: &str = r#"
graph engine(x: f32[4, 6]) {
  y = opaque "engine.gated"(x) -> f32[4, 3]
  return y
}"#;

fn main() -> miette::Result<()> {
    let library = RuleSet::library()?;
    let own = library.with_sources(&[RuleFile::new("engine.rules", RULES)])?;
    // Rules are tried on samples before anything is proven with them.
    check_from(&own, library.rules().len(), Effort::default())?;
    let (plain, engine) = (text::parse("plain.mir", PLAIN)?, text::parse("engine.mir", ENGINE)?);
    println!("with the library alone: {}", said(&plain, &engine, &library)?);
    println!("with the engine's rules: {}", said(&plain, &engine, &own)?);
    Ok(())
}

fn said(a: &Graph, b: &Graph, rules: &RuleSet) -> miette::Result<String> {
    Ok(match prove(a, b, rules, &Silent)?.verdict {
        Verdict::Equivalent { tier } => format!("equivalent at tier {tier}"),
        Verdict::Different(_) => "different".to_owned(),
        Verdict::Unknown => "unknown".to_owned(),
    })
}

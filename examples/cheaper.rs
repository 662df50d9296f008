//! Looks for cheaper forms of a graph, and writes the graph that has them.
//!
//! ```text
//! cargo run --example cheaper
//! ```

use magneton_ir::energy::{CostModel, Objective, graph_total};
use magneton_ir::ir::text;
use magneton_ir::optimize::optimize;
use magneton_ir::prove::Context;
use magneton_ir::rules::{RuleSet, Tier};

/// From the left this multiplies two matrices; from the right, a matrix with a vector, twice.
const GRAPH: &str = "
graph chain(a: bf16[2048, 2048], b: bf16[2048, 2048], v: bf16[2048, 1]) {
  y = matmul(matmul(a, b), v)
  return y
}";

fn main() -> miette::Result<()> {
    let graph = text::parse("chain.mir", GRAPH)?;
    let (rules, costs) = (RuleSet::library()?, CostModel::shipped()?);
    let found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs)?;
    for form in &found.optimization.cheaper {
        println!("{} becomes {}", form.from.join(", "), form.to);
    }
    let [before, after] = [&graph, &found.rewritten].map(|graph| graph_total(graph, &costs).energy_mj);
    println!("{:.3} mJ becomes {:.3} mJ ({:?})", before.value, after.value, after.source);
    println!("{}", text::print(&found.rewritten));
    Ok(())
}

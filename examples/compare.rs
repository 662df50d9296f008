//! Compares two workloads and prints what is known of them.
//!
//! ```text
//! cargo run --example compare -- a.pt2 b.pt2
//! ```
//!
//! Without files it compares two exports of GPT-2 that are part of the project.

use std::path::{Path, PathBuf};

use magneton_ir::check::compare;
use magneton_ir::energy::CostModel;
use magneton_ir::frontend::load;
use magneton_ir::progress::Silent;
use magneton_ir::report::{Comparison, ReportedVerdict, Side};
use magneton_ir::rules::{RuleSet, Tier};

fn main() -> miette::Result<()> {
    let exports = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let mut files = std::env::args_os().skip(1).map(PathBuf::from);
    let a = files.next().unwrap_or_else(|| exports.join("gpt2-eager.pt2"));
    let b = files.next().unwrap_or_else(|| exports.join("gpt2-sdpa.pt2"));
    print(&compared(&a, &b)?);
    Ok(())
}

/// The comparison of two files, under the rules and with the prices that the program carries.
fn compared(a: &Path, b: &Path) -> miette::Result<Comparison> {
    let (a, b) = (load(a)?, load(b)?);
    let (rules, costs) = (RuleSet::library()?, CostModel::shipped()?);
    // Weights are bound by name, type and use; `check` also reads what the files hold for them.
    Ok(compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent)?.comparison)
}

fn print(found: &Comparison) {
    match (found.verdict, &found.tier) {
        (ReportedVerdict::Equivalent, Some(tier)) => println!("equivalent at tier {tier}"),
        (ReportedVerdict::Different, _) => println!("different"),
        _ => println!("unknown"),
    }
    found.assumptions.iter().for_each(|assumed| println!("  if {assumed}"));
    print_side("A", &found.a);
    print_side("B", &found.b);
    for region in found.regions.iter().filter(|region| region.same_as.is_none() && !region.rules.is_empty()) {
        println!("{} times: {} is {}", region.repeats, region.a_kinds.join(", "), region.b_kinds.join(", "));
    }
}

fn print_side(name: &str, side: &Side) {
    let (energy, _) = side.as_run();
    match energy.value {
        Some(mj) => println!("{name}: {} operators, {mj:.1} mJ ({:?})", side.ops, energy.source),
        None => println!("{name}: {} operators, energy unknown", side.ops),
    }
}

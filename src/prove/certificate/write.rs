//! From a proof in memory to a file.

use super::super::bind::Binding;
use super::super::kernel::Lemma;
use super::super::kernel::arena::TermArena;
use super::super::log::{Type, Writer};
use super::format::{self, Certificate, Claim};
use super::version::FORMAT;
use crate::ir::{Graph, Value};
use crate::rules::RuleSet;

/// What a file is written from.
pub struct Contents<'a> {
    pub graphs: [&'a Graph; 2],
    pub binding: &'a Binding,
    pub rules: &'a RuleSet,
    pub arena: &'a TermArena,
    pub lemmas: &'a [Lemma],
    /// The lemmas that are needed, in order.
    pub needed: &'a [u32],
    pub cuts: &'a [(Value, Value)],
    pub claim: Claim,
}

impl Certificate {
    /// The file for a proof. Lemmas that nothing needs are left out.
    pub fn write(contents: &Contents) -> Certificate {
        let mut writer = Writer::new(contents.arena, contents.rules, &contents.graphs, 0);
        let needed = contents.needed.iter().filter_map(|&n| contents.lemmas.get(n as usize));
        needed.for_each(|lemma| writer.push(lemma));
        let cut = |&(x, y): &(Value, Value)| [x.node.index() as u32, x.slot, y.node.index() as u32, y.slot];
        Certificate {
            format: FORMAT.to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            rules: identity(contents.rules),
            claim: contents.claim.clone(),
            binding: binding(contents),
            log: writer.finish(),
            cuts: contents.cuts.iter().map(cut).collect(),
        }
    }
}

/// The fingerprint of a rule set as files spell it.
pub(super) fn identity(rules: &RuleSet) -> String {
    format!("{:016x}", rules.fingerprint())
}

fn binding(contents: &Contents) -> format::Binding {
    let side = |graph: &Graph, numbers: &[u32]| {
        let names = graph.inputs().iter().map(|&i| graph.node(i).name.to_string());
        names.zip(numbers.iter().copied()).collect()
    };
    let [a, b] = contents.graphs;
    format::Binding {
        types: contents.binding.inputs.iter().map(|i| Type::from(&i.ty)).collect(),
        a: side(a, &contents.binding.a),
        b: side(b, &contents.binding.b),
    }
}

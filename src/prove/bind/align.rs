//! Outputs of two graphs in one order.

use rustc_hash::FxHashMap;

use super::binding::BoundPair;
use crate::ir::{AttrValue, Graph};
use crate::prove::kernel::{OutputPair, pair_outputs};

impl BoundPair {
    /// Puts outputs that belong together at one position, and writes down what a graph leaves as it is while the other one
    /// changes it. Graphs that do not give the same outputs stay as they are, and are refused where they are compared.
    pub(super) fn aligned(mut self) -> BoundPair {
        let BoundPair { a, b, binding } = &mut self;
        let Ok(outputs) = pair_outputs((a, &binding.a), (b, &binding.b)) else { return self };
        let (of_a, of_b) = outputs.pairs.into_iter().map(|OutputPair { a, b }| (a, b)).unzip();
        a.set_outputs(of_a);
        b.set_outputs(of_b);
        binding.assumptions.extend(outputs.notes);
        binding.assumptions.extend(made_for(a, b));
        self
    }
}

/// The constants among the inputs that the graphs were made for, where they are not the same.
fn made_for(a: &Graph, b: &Graph) -> Vec<String> {
    fn by_name(graph: &Graph) -> FxHashMap<&str, &AttrValue> {
        graph.constant_inputs().iter().map(|c| (&*c.name, &c.value)).collect()
    }
    let [of_a, of_b] = [a, b].map(by_name);
    let mut all: Vec<String> = Vec::new();
    for given in a.constant_inputs() {
        match of_b.get(&*given.name) {
            Some(other) if other.to_string() == given.value.to_string() => {}
            Some(other) => all.push(format!("A holds for `{}` = {} only, B for {other} only", given.name, given.value)),
            None => all.push(format!("A holds for `{}` = {} only", given.name, given.value)),
        }
    }
    let only_b = b.constant_inputs().iter().filter(|c| !of_a.contains_key(&*c.name));
    all.extend(only_b.map(|given| format!("B holds for `{}` = {} only", given.name, given.value)));
    all
}

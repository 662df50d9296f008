//! Loops whose number of steps the file states, `scan` and `map`: the body is taken over once for each step.

use super::argument::Argument;
use super::import::Importer;
use super::lowering::{Refusal, int, ints};
use super::nested;
use super::schema::{Graph, Node, node_name};
use super::scope::Scope;
use super::target::Target;
use crate::frontend::LoadError;
use crate::ir::{Origin, Value};

/// Nodes that the loops of a file may become; what is left of it stays one operator each.
const MAX_NODES: usize = 1 << 15;

/// A loop over the first dimension of some tensors.
struct Loop<'a> {
    body: &'a Graph,
    /// What the first step gets; every other step gets what the one before it gave.
    carried: &'a [String],
    /// Tensors of which each step gets one slice.
    over: &'a [String],
    /// What every step gets.
    shared: &'a [String],
    inputs: Vec<&'a str>,
    /// What a step gives: what is carried on, then slices of results.
    given: Vec<&'a str>,
    results: Vec<&'a str>,
}

/// The loop that a node is; `None` for other nodes, and for loops whose steps cannot be taken apart.
fn parse(node: &Node) -> Option<Loop<'_>> {
    let tensors = |i: usize| match &node.inputs.get(i)?.arg {
        Argument::Tensors(names) => Some(names.as_slice()),
        _ => None,
    };
    let target = Target::of(&node.target);
    let (carried, over, shared) = match (target.namespace, target.name, node.inputs.len()) {
        ("higher_order", "scan", 4) => (tensors(1)?, tensors(2)?, tensors(3)?),
        ("higher_order", "map_impl", 3) => (&[][..], tensors(1)?, tensors(2)?),
        _ => return None,
    };
    let Argument::Graph(argument) = &node.inputs.first()?.arg else { return None };
    let body = &*argument.graph;
    let is_tensor = |argument: &Argument| matches!(argument, Argument::Tensor(_));
    let plain = body.inputs.iter().chain(&body.outputs).all(is_tensor);
    // Loops in loops would multiply, and what draws in a loop draws something else in each step.
    let simple = body.nodes.iter().all(|n| nested::graphs(n).is_empty()) && !nested::draws(node);
    if !plain || !simple || nested::writes_outside(node).is_some() {
        return None;
    }
    let names = |all: &'_ [Argument]| -> usize { all.iter().map(|a| a.tensors().len()).sum() };
    let fits = names(&body.inputs) == carried.len() + over.len() + shared.len()
        && names(&body.outputs) == names(&node.outputs)
        && names(&body.outputs) >= carried.len();
    fits.then(|| Loop {
        body,
        carried,
        over,
        shared,
        inputs: body.inputs.iter().flat_map(Argument::tensors).collect(),
        given: body.outputs.iter().flat_map(Argument::tensors).collect(),
        results: node.outputs.iter().flat_map(Argument::tensors).collect(),
    })
}

impl<'a> Importer<'a> {
    /// Takes over the steps of the loop that `node` is. Whether it did: other nodes, and loops that would become too many
    /// nodes or whose body is not understood, are left as they are.
    pub(super) fn unroll(&mut self, outer: &mut Scope<'a>, node: &'a Node, name: &str) -> Result<bool, LoadError> {
        let Some(of) = parse(node) else { return Ok(false) };
        let refused = |importer: &Self, refusal| importer.builder.refused(name, &node.target, refusal);
        let Some(count) = steps(outer, &of).map_err(|refusal| refused(self, refusal))? else { return Ok(false) };
        // Keeping what is there takes as long as there are nodes.
        let nodes = count.saturating_mul(of.body.nodes.len() + of.inputs.len() + of.given.len());
        let cost = nodes.saturating_add(self.builder.graph.len() / 16);
        let Some(left) = MAX_NODES.checked_sub(self.unrolled).and_then(|left| left.checked_sub(cost)) else {
            return Ok(false);
        };
        self.unrolled = MAX_NODES - left;
        let before = self.state();
        let origin = self.origin(node);
        match self.steps(outer, &of, count, name, &origin) {
            Ok(results) => {
                for (&result, value) in of.results.iter().zip(results) {
                    let stated = outer.stated(result).map_err(|refusal| refused(self, refusal))?;
                    self.builder.check_type(name, &node.target, result, value, stated)?;
                    let tensor = self.memory.own(value, outer.layout(result));
                    outer.bind(result, tensor).map_err(|refusal| refused(self, refusal))?;
                }
                Ok(true)
            }
            Err(_) => {
                self.restore(before);
                Ok(false)
            }
        }
    }

    /// What the loop gives after `count` steps.
    fn steps(
        &mut self,
        outer: &Scope<'a>,
        of: &Loop<'a>,
        count: usize,
        name: &str,
        origin: &Origin,
    ) -> Result<Vec<Value>, LoadError> {
        let refused = |importer: &Self, refusal| importer.builder.refused(name, "a loop", refusal);
        let read = |importer: &mut Self, names: &[String]| -> Result<Vec<Value>, LoadError> {
            let value = |tensor: &String| importer.read(outer, tensor, name, origin);
            names.iter().map(value).collect::<Result<_, _>>().map_err(|refusal| refused(importer, refusal))
        };
        let (mut carried, over, shared) = (read(self, of.carried)?, read(self, of.over)?, read(self, of.shared)?);
        let mut slices: Vec<Vec<Value>> = vec![Vec::with_capacity(count); of.given.len() - of.carried.len()];
        for step in 0..count {
            let parts = over.iter().map(|&whole| self.slice(whole, step, name, origin)).collect::<Result<Vec<_>, _>>();
            let parts = parts.map_err(|refusal| refused(self, refusal))?;
            let mut inner = Scope::new(of.body, outer.autocast.clone());
            for (&input, &value) in of.inputs.iter().zip(carried.iter().chain(&parts).chain(&shared)) {
                let stated = inner.stated(input).map_err(|refusal| refused(self, refusal))?;
                self.builder.check_type(name, "a loop", input, value, stated)?;
                let tensor = self.memory.own(value, inner.layout(input));
                inner.bind(input, tensor).map_err(|refusal| refused(self, refusal))?;
            }
            for nested in &of.body.nodes {
                let unique = self.builder.names.fresh(&format!("{name}.{}", node_name(nested)));
                self.node(&mut inner, nested, &unique)?;
            }
            let given =
                of.given.iter().map(|given| self.read(&inner, given, name, origin)).collect::<Result<Vec<_>, _>>();
            let mut given = given.map_err(|refusal| refused(self, refusal))?.into_iter();
            carried = given.by_ref().take(of.carried.len()).collect();
            for (all, value) in slices.iter_mut().zip(given) {
                all.push(value);
            }
        }
        for all in slices {
            let stacked = self.stacked(&all, name, origin).map_err(|refusal| refused(self, refusal))?;
            carried.push(stacked);
        }
        Ok(carried)
    }

    /// Element number `step` along the first dimension.
    fn slice(&mut self, whole: Value, step: usize, name: &str, origin: &Origin) -> Result<Value, Refusal> {
        let mut lowering = self.builder.lower(name, origin.clone());
        let step = step as i64;
        let attrs = [("dim", int(0)), ("start", int(step)), ("end", int(step + 1))];
        let part = lowering.implicit("part", "slice", &attrs, &[whole])?;
        lowering.implicit("element", "squeeze", &[("dim", int(0))], &[part])
    }

    /// Tensors of one type, one after the other along a new first dimension.
    fn stacked(&mut self, all: &[Value], name: &str, origin: &Origin) -> Result<Value, Refusal> {
        let mut lowering = self.builder.lower(name, origin.clone());
        let mut rows = Vec::with_capacity(all.len());
        for &value in all {
            let shape = lowering.ty(value).shape;
            let shape: Vec<i64> = std::iter::once(1).chain(shape.iter().map(|&d| d as i64)).collect();
            rows.push(lowering.implicit("row", "reshape", &[("shape", ints(&shape))], &[value])?);
        }
        lowering.step("concat", &[("dim", int(0))], &rows)
    }
}

/// How many steps there are; `None` for no step at all, and where the tensors do not agree.
fn steps(outer: &Scope, of: &Loop) -> Result<Option<usize>, Refusal> {
    let mut counts = Vec::with_capacity(of.over.len());
    for name in of.over {
        counts.push(outer.stated(name)?.shape.first().copied());
    }
    let agree = counts.windows(2).all(|pair| pair[0] == pair[1]);
    Ok(counts.first().copied().flatten().filter(|&count| agree && count > 0))
}

//! What an expression makes of the elements that the other file holds: what tells where digests of rows and columns do not.

use super::folded::{MAX_ELEMENTS, agree, computed, sampled};
use super::{Expression, Part};
use crate::eval::GraphProgram;
use crate::ir::{Contents, Graph, Number, Origin, Role, Value};

/// Elements that are compared throughout, in all. Beyond, samples may contradict a guess, and confirm none.
const ALL_COMPARED: usize = 1 << 24;

/// Compares what expressions make with what a file holds.
pub(super) struct Comparison {
    left: usize,
}

impl Comparison {
    pub(super) fn new() -> Comparison {
        Comparison { left: ALL_COMPARED }
    }

    /// Whether `expression` over what `others` hold makes what `own` holds for input `target`; `None` if that cannot be told, or if it
    /// is the same but for rounding.
    pub(super) fn agrees(
        &mut self,
        expression: &Expression,
        target: usize,
        own: &mut dyn Contents,
        others: &mut dyn Contents,
    ) -> Option<bool> {
        let ty = expression.ty();
        let is_small = |numel: usize| numel <= MAX_ELEMENTS;
        let held = is_small(ty.numel()).then(|| own.elements(target)).flatten()?;
        let (graph, value) = graph(expression)?;
        let mut program = GraphProgram::new(&graph, 0);
        for (at, leaf) in expression.inputs().enumerate() {
            let numel = graph.ty(Value::from(*graph.inputs().get(at)?)).numel();
            let elements = is_small(numel).then(|| others.elements(leaf)).flatten()?;
            program = program.with_input(at, elements).ok()?;
        }
        let rest = self.left.checked_sub(ty.numel());
        self.left = rest.unwrap_or(self.left);
        let places: Vec<usize> = if rest.is_some() { (0..ty.numel()).collect() } else { sampled(ty).collect() };
        let made = computed(&program, value, ty, &places)?;
        let held: Vec<Number> = places.iter().map(|&place| held.get(place).copied()).collect::<Option<_>>()?;
        match agree(ty.dtype, &held, &made) {
            None => Some(false),
            Some(is_same) => (is_same && rest.is_some()).then_some(true),
        }
    }
}

/// An expression as a graph. Its inputs are those that [`Expression::inputs`] lists.
fn graph(expression: &Expression) -> Option<(Graph, Value)> {
    let mut graph = Graph::new("binding");
    let mut values: Vec<Value> = Vec::new();
    for (n, (part, ty)) in expression.typed_parts().enumerate() {
        let value = match part {
            Part::Input(_) => graph.add_input(&format!("i{n}"), Role::Buffer, ty.clone(), Origin::default()).into(),
            Part::Apply { op, attrs, slot, operands } => {
                let operands: Vec<Value> = operands.iter().map(|&o| values.get(o).copied()).collect::<Option<_>>()?;
                let node = graph.add_op(&format!("v{n}"), op, attrs.clone(), &operands, Origin::implicit()).ok()?;
                Value::new(node, *slot as u32)
            }
        };
        values.push(value);
    }
    let root = *values.get(expression.root())?;
    Some((graph, root))
}

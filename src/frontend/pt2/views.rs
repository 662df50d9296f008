//! Views as functions: of a tensor, and of what a write through them leaves of it.

use super::lowering::{Refusal, int, ints};
use crate::frontend::builder::Lowering;
use crate::ir::{AttrValue, Attrs, DType, Graph, Layout, NodeKind, Value};
use crate::ops::{Call, LayoutRule, Op, OpDef};

const HELP: &str = "use the operator's functional form in the model, or export with `run_decompositions()`";

/// Applies views while a node of the file is taken over.
pub(super) struct Views<'s>(pub Lowering<'s>);

/// The operator of the table that gives `value`.
fn operator(graph: &Graph, value: Value) -> Option<(&'static OpDef, &Attrs)> {
    match &graph.node(value.node).kind {
        NodeKind::Op { op: Op::Table(def), attrs } => Some((def, attrs)),
        _ => None,
    }
}

/// The operators from a node before number `first` to `value`, where each has one operand and moves no element, and that
/// node's value.
pub(super) fn path(graph: &Graph, value: Value, first: usize) -> Option<(Value, Vec<Value>)> {
    let (mut steps, mut at) = (Vec::new(), value);
    while at.node.index() >= first {
        let (def, _) = operator(graph, at)?;
        let [from] = graph.operands(at.node)[..] else { return None };
        let same_type = def.name == "cast" && graph.ty(from).dtype == graph.ty(at).dtype;
        if !same_type && !matches!(def.layout, LayoutRule::View(_)) {
            return None;
        }
        steps.push(at);
        at = from;
    }
    steps.reverse();
    Some((at, steps))
}

/// How the end of `path` lies in the memory of a tensor that lies there as `layout`; `None` if one of the operators copies.
pub(super) fn layout(graph: &Graph, path: &[Value], layout: Layout) -> Option<Layout> {
    path.iter().try_fold(layout, |layout, &step| {
        let (def, attrs) = operator(graph, step)?;
        let operands = graph.operands(step.node);
        let types = [graph.ty(*operands.first()?)];
        match def.layout {
            LayoutRule::View(view) => view(&Call { op: def, attrs, operands: &types }, step.slot as usize, &layout),
            _ => Some(layout),
        }
    })
}

impl Views<'_> {
    /// The operator of `step` on another operand.
    pub(super) fn apply(&mut self, step: Value, operand: Value) -> Result<Value, Refusal> {
        let (def, attrs) = operator(self.0.graph, step).ok_or_else(|| Refusal::new("is a view of an unknown kind"))?;
        let attrs = attrs.clone();
        let values = self.0.implicit_op("memory", def, attrs, &[operand])?;
        values.get(step.slot as usize).copied().ok_or_else(|| Refusal::new("is a view of an unknown kind"))
    }

    /// `whole` with `part` in the place of what the operator of `step` shows of it.
    pub(super) fn put(&mut self, step: Value, whole: Value, part: Value) -> Result<Value, Refusal> {
        let unknown = || Refusal::new("writes through a view of an unknown kind").help(HELP);
        let (def, attrs) = operator(self.0.graph, step).ok_or_else(unknown)?;
        let attrs = attrs.clone();
        let attr = |name: &str| def.attr_index(name).and_then(|i| attrs.get(i));
        let number = |name: &str| attr(name).and_then(AttrValue::as_int).ok_or_else(unknown);
        let list = |name: &str| attr(name).and_then(AttrValue::as_ints).ok_or_else(unknown);
        let shape = AttrValue::shape(&self.0.graph.ty(whole).shape);
        match def.name {
            "alias" | "contiguous" | "cast" | "dropout" => Ok(part),
            "reshape" | "squeeze" | "unsqueeze" => self.call("reshape", &[("shape", shape)], &[part]),
            "permute" => {
                let dims = list("dims")?;
                let at = |d: i64| dims.iter().position(|&x| x == d).map(|p| p as i64);
                let inverse: Option<Vec<i64>> = (0..dims.len() as i64).map(at).collect();
                self.call("permute", &[("dims", ints(&inverse.ok_or_else(unknown)?))], &[part])
            }
            "slice" => self.put_slice(whole, part, number("dim")?, number("start")?, number("end")?, number("step")?),
            "split" => {
                let sizes = list("sizes")?;
                let start: i64 = sizes.iter().take(step.slot as usize).sum();
                let size = sizes.get(step.slot as usize).ok_or_else(unknown)?;
                self.put_slice(whole, part, number("dim")?, start, start + size, 1)
            }
            "expand" => Err(Refusal::new("writes to a tensor whose elements share memory").help(HELP)),
            _ => Err(unknown()),
        }
    }

    fn put_slice(
        &mut self,
        whole: Value,
        part: Value,
        dim: i64,
        start: i64,
        end: i64,
        step: i64,
    ) -> Result<Value, Refusal> {
        let size = self.0.graph.ty(whole).shape.get(dim as usize).copied().unwrap_or(0) as i64;
        if step != 1 {
            let positions = [
                ("start", AttrValue::float(start as f64)),
                ("end", AttrValue::float(end.min(size) as f64)),
                ("step", AttrValue::float(step as f64)),
                ("dtype", AttrValue::DType(DType::I64)),
            ];
            let positions = self.call("arange", &positions, &[])?;
            let attrs = [("dims", ints(&[dim])), ("accumulate", AttrValue::Bool(false))];
            return self.call("index_put", &attrs, &[whole, part, positions]);
        }
        let mut parts = Vec::with_capacity(3);
        for (from, to, given) in [(0, start, None), (start, end.min(size), Some(part)), (end.min(size), size, None)] {
            match given {
                Some(part) => parts.push(part),
                None if from < to => {
                    let attrs = [("dim", int(dim)), ("start", int(from)), ("end", int(to))];
                    parts.push(self.call("slice", &attrs, &[whole])?);
                }
                None => {}
            }
        }
        match parts[..] {
            [all] => Ok(all),
            _ => self.call("concat", &[("dim", int(dim))], &parts),
        }
    }

    fn call(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Result<Value, Refusal> {
        self.0.implicit("memory", op, attrs, operands)
    }
}

//! What acts on both parts of complex numbers alike, such as views and joins: such an operator is converted as if its operands
//! were real numbers, and what comes out is then applied to pairs.

use rustc_hash::FxHashMap;

use super::super::autocast::Casts;
use super::super::lowering::{Converted, NodeLowering, Refusal, Values};
use super::super::target::Target;
use super::real;
use crate::frontend::builder::Lowering;
use crate::ir::{AttrValue, Attrs, Graph, NodeKind, Origin, Role, TensorType, Value};
use crate::ops::{Op, OpDef};

/// A node to add: its operator, with its attributes for pairs.
struct Step {
    def: &'static OpDef,
    attrs: Attrs,
}

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let mut bare = Graph::new("");
    // By value of the graph: the operand as it is without its last dimension, and whether it is one of pairs.
    let mut operands: FxHashMap<Value, (Value, bool)> = FxHashMap::default();
    for name in site.node.inputs.iter().flat_map(|i| i.arg.tensors()) {
        let (value, paired) = (site.value(name)?, site.scope.is_complex(name));
        match operands.get(&value) {
            // As one of pairs and as one of real numbers.
            Some(&(_, known)) if known != paired => return Ok(None),
            Some(_) => continue,
            None => {}
        }
        let ty = site.ty(value);
        let shape = if paired { &ty.shape[..ty.rank() - 1] } else { &ty.shape[..] };
        let ty = TensorType::new(ty.dtype, shape).map_err(|e| Refusal::new(e.to_string()))?;
        let input = bare.add_input(name, Role::User, ty, Origin::default());
        operands.insert(value, (input.into(), paired));
    }
    let first = bare.len();
    let Some(values) = converted(site, target, &mut bare, &operands)? else { return Ok(None) };
    let mut paired: FxHashMap<Value, bool> = operands.values().copied().collect();
    let Some(steps) = steps(&bare, first, &mut paired) else { return Ok(None) };
    // A result that is real although operands are complex was converted as if those were real, too.
    let is_real = operands.values().any(|&(_, paired)| paired) && values.iter().any(|v| paired.get(v) != Some(&true));
    let wanted = site.output_names().map(|name| site.scope.is_complex(name));
    if is_real || wanted.zip(&values).any(|(wanted, value)| paired.get(value) != Some(&wanted)) {
        return Ok(None);
    }
    let mut moved: FxHashMap<Value, Value> = operands.into_iter().map(|(value, (bare, _))| (bare, value)).collect();
    let damaged = || Refusal::new("uses a value before it is computed");
    for ((id, node), step) in bare.nodes().skip(first).zip(steps) {
        let operands = bare.operands(id);
        let operands =
            operands.iter().map(|v| moved.get(v).copied()).collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        let graph = &mut site.lowering.graph;
        let new = graph.add_op(&node.name, step.def, step.attrs, &operands, node.origin.clone())?;
        for slot in 0..node.types.len() as u32 {
            moved.insert(Value::new(id, slot), Value::new(new, slot));
        }
    }
    let values = values.iter().map(|v| moved.get(v).copied()).collect::<Option<Values>>().ok_or_else(damaged)?;
    Ok(Some(values))
}

/// The operator on operands without their last dimension, in a graph of its own.
fn converted(
    site: &mut NodeLowering,
    target: Target,
    bare: &mut Graph,
    operands: &FxHashMap<Value, (Value, bool)>,
) -> Converted {
    let outer = &mut site.lowering;
    let lowering = Lowering { graph: bare, names: &mut *outer.names, name: outer.name, origin: outer.origin.clone() };
    let cast = operands.iter().map(|(&value, &(bare, _))| (value, bare)).collect();
    let casts = Casts { cast, ..Casts::default() };
    let mut inner =
        NodeLowering { lowering, scope: site.scope, memory: site.memory, node: site.node, casts, bare: true };
    real::convert(&mut inner, target)
}

/// What to add for each node; none where one of them does more than to act on both parts alike.
fn steps(bare: &Graph, first: usize, paired: &mut FxHashMap<Value, bool>) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for (id, node) in bare.nodes().skip(first) {
        let NodeKind::Op { op: Op::Table(def), attrs } = &node.kind else { return None };
        let operands = bare.operands(id);
        let pairs = operands.iter().map(|v| paired.get(v).copied()).collect::<Option<Vec<bool>>>()?;
        let is_paired = pairs.contains(&true);
        let rank = operands.first().map_or(0, |&x| bare.ty(x).rank());
        let attrs = if is_paired { for_pairs(def, attrs, &pairs, rank)? } else { attrs.clone() };
        steps.push(Step { def, attrs });
        for slot in 0..node.types.len() as u32 {
            paired.insert(Value::new(id, slot), is_paired);
        }
    }
    Some(steps)
}

/// The attributes with which the operator does to pairs what it does to single numbers with `attrs`. Dimensions count from the
/// front. `rank` is that of its first operand without the parts.
fn for_pairs(def: &'static OpDef, attrs: &Attrs, pairs: &[bool], rank: usize) -> Option<Attrs> {
    let fits = match def.name {
        "index" | "index_select" => pairs.iter().enumerate().all(|(i, &paired)| paired == (i == 0)),
        _ => pairs.iter().all(|&paired| paired),
    };
    let longer = |name: &str, more: &[i64]| {
        let (mut attrs, at) = (attrs.clone(), def.attr_index(name)?);
        let mut list = attrs.get(at)?.as_ints()?.to_vec();
        list.extend(more);
        *attrs.get_mut(at)? = AttrValue::Ints(list.into());
        Some(attrs)
    };
    let adds_nothing = || attrs.get(def.attr_index("value")?)?.as_number().filter(|v| !v.is_true());
    match def.name {
        _ if !fits => None,
        "alias" | "contiguous" | "clone" | "slice" | "split" | "concat" | "unsqueeze" | "squeeze" | "flip" | "roll"
        | "repeat_interleave" | "index" | "index_select" | "sum" | "cumsum" => Some(attrs.clone()),
        "reshape" | "expand" => longer("shape", &[2]),
        "permute" => longer("dims", &[rank as i64]),
        "pad" if adds_nothing().is_some() => longer("pad", &[0, 0]),
        _ => None,
    }
}

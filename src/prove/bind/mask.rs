//! Constants that are causal masks, written as comparisons of positions: a proof knows those, however large they are.

use std::iter::zip;

use crate::ir::{AttrValue, DType, Graph, Number, Origin, TensorType, Value};
use crate::ops;

/// The tensor `kept` where a key stands at most `offset` places behind the query, and `hidden` elsewhere.
struct Causal {
    kept: Number,
    hidden: Number,
    offset: i64,
}

/// What a constant is if its last dimensions are queries and keys, and all its matrices are the same causal mask.
fn causal(ty: &TensorType, data: &[Number]) -> Option<Causal> {
    let [.., queries, keys] = ty.shape[..] else { return None };
    if queries < 2 || keys < 2 || data.len() != ty.numel() {
        return None;
    }
    let (&kept, &hidden) = (data.first()?, data.get(keys - 1)?);
    let offset = data.get(..keys)?.iter().take_while(|n| **n == kept).count() as i64 - 1;
    let holds = |(row, i): (&[Number], usize)| {
        let seen = (i as i64 + offset + 1).clamp(0, keys as i64) as usize;
        row.iter().take(seen).all(|n| *n == kept) && row.iter().skip(seen).all(|n| *n == hidden)
    };
    let mut rows = zip(data.chunks_exact(keys), (0..queries).cycle());
    (kept != hidden && rows.all(holds)).then_some(Causal { kept, hidden, offset })
}

/// Whether the elements are a causal mask, whose size does not matter.
pub(super) fn is_causal(ty: &TensorType, data: &[Number]) -> bool {
    causal(ty, data).is_some()
}

/// Adds a constant of a file to a graph. `None` if a node cannot be made, which types rule out.
pub(super) fn add_constant(graph: &mut Graph, name: &str, ty: &TensorType, data: &[Number]) -> Option<Value> {
    let Some(Causal { kept, hidden, offset }) = causal(ty, data) else {
        return Some(graph.add_literal(name, ty.clone(), data, Origin::default()).ok()?.into());
    };
    let mut add = |part: &str, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]| -> Option<Value> {
        let def = ops::find(op)?;
        let name = if part.is_empty() { name.to_owned() } else { format!("{name}.{part}") };
        Some(graph.add_op(&name, def, def.attrs(attrs).ok()?, operands, Origin::implicit()).ok()?.into())
    };
    let [queries, keys] = [ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]];
    let mut counted = |part: &str, start: i64, count: usize, shape: [usize; 2]| {
        let end = start + count as i64;
        let (start, end) = (AttrValue::Int(start), AttrValue::Int(end));
        let attrs = [("start", start), ("end", end), ("dtype", AttrValue::DType(DType::I64))];
        let line = add(part, "arange", &attrs, &[])?;
        add(&format!("{part}.line"), "reshape", &[("shape", AttrValue::shape(&shape))], &[line])
    };
    let (rows, columns) = (counted("queries", offset, queries, [queries, 1])?, counted("keys", 0, keys, [1, keys])?);
    let seen = add("seen", "le", &[], &[columns, rows])?;
    let is_seen = ty.dtype == DType::Bool && kept.is_true();
    let part = if is_seen { "" } else { "mask" };
    let seen = add(part, "expand", &[("shape", AttrValue::shape(&ty.shape))], &[seen])?;
    if is_seen {
        return Some(seen);
    }
    let mut number = |part: &str, value: Number| {
        add(part, "number", &[("value", value.into()), ("dtype", AttrValue::DType(ty.dtype))], &[])
    };
    let (kept, hidden) = (number("kept", kept)?, number("hidden", hidden)?);
    add("", "where", &[], &[seen, kept, hidden])
}

//! The kinds of edits. Each is a mistake that people make when they write a model anew.
//!
//! A kind leaves out the places where it would change nothing: a bias of keys alone (softmax does not see it), a
//! shift of rotary positions (only distances count), a mask entry that nothing reads.

use smallvec::SmallVec;

use super::Change;
use super::site::{EditSite, call};
use magneton_ir::ir::{AttrValue, DType, NodeId, NodeKind, Role, Value};
use magneton_ir::ops::find;

/// A kind of edit.
pub(crate) struct EditKind {
    pub name: &'static str,
    /// The edit of one place, if the kind has one there.
    pub change: fn(&EditSite) -> Option<Change>,
    /// It edits masks: only offered where a mask that is read becomes another.
    pub of_constants: bool,
}

impl std::fmt::Debug for EditKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn kind(name: &'static str, change: fn(&EditSite) -> Option<Change>) -> EditKind {
    EditKind { name, change, of_constants: false }
}

const fn of_constants(name: &'static str, change: fn(&EditSite) -> Option<Change>) -> EditKind {
    EditKind { name, change, of_constants: true }
}

/// Every kind of edit.
pub(crate) const KINDS: &[EditKind] = &[
    // Constants.
    kind("factor", |s| scalar(s, &["mul", "div"], |v| v != 0.0 && v.abs() < 1e4, 1.5)),
    kind("summand", |s| scalar(s, &["add"], |v| (1e-2..1e4).contains(&v.abs()), 1.5)),
    kind("epsilon of a root", |s| scalar(s, &["add"], |v| v > 0.0 && v < 1e-2, 100.0)),
    kind("epsilon of a norm", |s| {
        let eps = s.attr("eps")?.as_float()?;
        s.is_varying().then(|| s.with("eps", AttrValue::float(eps * 100.0)).map(Change::Attrs))?
    }),
    kind("exponent", |s| {
        let exponent = s.attr("exponent")?.as_float()?;
        s.is_varying().then(|| s.with("exponent", AttrValue::float(exponent + 1.0)).map(Change::Attrs))?
    }),
    kind("attention scale", |s| {
        let scale = s.attr("scale")?.as_float()?;
        s.is("sdpa").then(|| s.with("scale", AttrValue::float(scale * 1.5)).map(Change::Attrs))?
    }),
    // Axes, bounds and order.
    kind("softmax over another axis", |s| {
        let dim = s.attr("dim")?.as_int()?;
        let other = (0..s.ty().rank()).rev().find(|&d| d as i64 != dim && s.ty().shape[d] > 1)?;
        s.is("softmax").then(|| s.with("dim", AttrValue::Int(other as i64)).map(Change::Attrs))?
    }),
    kind("slice off by one", |s| {
        let (dim, start, end) = (s.attr("dim")?.as_int()?, s.attr("start")?.as_int()?, s.attr("end")?.as_int()?);
        let size = *s.operand_type(0)?.shape.get(usize::try_from(dim).ok()?)? as i64;
        let by = if end < size { 1 } else { -1 };
        let shifted = s.is("slice") && s.is_varying() && start + by >= 0;
        let mut attrs = s.with("start", AttrValue::Int(start + by))?;
        *attrs.get_mut(s.op.attr_index("end")?)? = AttrValue::Int(end + by);
        shifted.then_some(Change::Attrs(attrs))
    }),
    kind("halves swapped", |s| {
        let two = s.is("concat") && s.is_varying() && s.operands.len() == 2 && s.operands[0] != s.operands[1];
        two.then(|| Change::Operands(s.swapped(0, 1)))
    }),
    // Of values alone: the same shift of queries, keys and values only renames heads until they are joined.
    kind("tokens of values shifted", |s| is_values(s).then(|| rolled(s, 2))?),
    kind("heads of values shifted", |s| is_values(s).then(|| rolled(s, 1))?),
    kind("heads repeated in the wrong order", repeated_whole),
    // Operands.
    kind("difference turned round", |s| {
        let plain = (s.is("sub") || s.is("div")) && s.is_varying() && s.same_types(0, 1);
        plain.then(|| Change::Operands(s.swapped(0, 1)))
    }),
    kind("keys for queries", |s| (s.is("sdpa") && s.same_types(0, 1)).then(|| Change::Operands(s.swapped(0, 1)))),
    kind("values for keys", |s| (s.is("sdpa") && s.same_types(1, 2)).then(|| Change::Operands(s.swapped(1, 2)))),
    kind("residual dropped", |s| is_residual(s).then(|| passes_on(s, 1))?),
    kind("branch dropped", |s| is_residual(s).then(|| passes_on(s, 0))?),
    kind("residual subtracted", |s| is_residual(s).then(|| replaced(s, "sub"))?),
    kind("weight of another layer", |s| {
        let place = match s.op.name {
            "linear" => 1,
            "addmm" => 2,
            _ => return None,
        };
        other_parameter(s, place)
    }),
    kind("norm of another layer", |s| {
        let place = match s.op.name {
            "layer_norm" | "rms_norm" => 1,
            "mul" => s.operands.iter().position(|&v| s.graph.ty(v).rank() == 1)?,
            _ => return None,
        };
        other_parameter(s, place)
    }),
    kind("bias dropped", |s| {
        // Only where an activation or the residual stream reads it: a bias of keys does not show behind softmax.
        let shows = s.users().iter().all(|u| matches!(*u, "gelu" | "relu" | "silu" | "tanh" | "add"));
        let linear = s.is("linear") && s.operands.len() == 3 && shows;
        linear.then(|| Change::Operands(s.operands[..2].into()))
    }),
    kind("bias counted twice", |s| {
        let shows = s.users().iter().all(|u| matches!(*u, "gelu" | "relu" | "silu" | "tanh" | "pow" | "mul" | "add"));
        (s.is("addmm") && shows).then(|| s.with("beta", AttrValue::float(2.0)).map(Change::Attrs))?
    }),
    kind("norm without bias", |s| {
        let full = s.is("layer_norm") && s.operands.len() == 3;
        full.then(|| Change::Operands(s.operands[..2].into()))
    }),
    kind("norm without weight", |s| {
        let full = s.is("rms_norm") && s.operands.len() == 2;
        full.then(|| Change::Operands(s.operands[..1].into()))
    }),
    kind("gate for value", |s| {
        let gate = |v: Value| s.maker(v).is_some_and(|op| matches!(op.name, "silu" | "gelu"));
        let gated = s.is("mul") && s.operands.len() == 2 && gate(s.operands[0]) && s.same_types(0, 1);
        gated.then(|| Change::Operands([s.operands[0], s.operands[0]].into_iter().collect()))
    }),
    // Masks.
    kind("attention without mask", |s| {
        let masked = s.is("sdpa") && s.operands.len() == 4 && s.hides(s.operands[3]);
        masked.then(|| Change::Operands(s.operands[..3].into()))
    }),
    kind("scores without mask", |s| {
        let masked = s.is("add") && s.users().contains(&"softmax") && s.operands.len() == 2;
        (masked && s.hides(s.operands[1]) && s.operand_type(0) == Some(s.ty())).then(|| passes_on(s, 0))?
    }),
    kind("causal flag", |s| {
        let keys = s.operand_type(1)?.shape.iter().rev().nth(1).copied()?;
        let causal = s.attr("causal")?.as_bool()?;
        let free = s.is("sdpa") && s.operands.len() == 3 && keys > 1;
        free.then(|| s.with("causal", AttrValue::Bool(!causal)).map(Change::Attrs))?
    }),
    of_constants("comparison turned round", |s| {
        let compares = matches!(s.op.name, "le" | "lt" | "ge" | "gt");
        compares.then(|| Change::Operands(s.swapped(0, 1)))
    }),
    of_constants("comparison off by one", |s| {
        let other = match s.op.name {
            "le" => "lt",
            "lt" => "le",
            "ge" => "gt",
            "gt" => "ge",
            _ => return None,
        };
        replaced(s, other)
    }),
    of_constants("window off by one", |s| {
        let int = (s.is("full") || s.is("number")) && s.ty().dtype.is_int() && s.ty().numel() == 1;
        let value = s.attr("value")?.as_float()?;
        (int && value.abs() > 1.0).then(|| s.with("value", AttrValue::float(value + 1.0)).map(Change::Attrs))?
    }),
    of_constants("diagonal off by one", |s| {
        let diagonal = s.attr("diagonal")?.as_int()?;
        s.with("diagonal", AttrValue::Int(diagonal + 1)).map(Change::Attrs)
    }),
    kind("rotary positions doubled", |s| {
        let (start, end) = (s.attr("start")?.as_float()?, s.attr("end")?.as_float()?);
        let rotary = s.is("arange") && end > 2.0 && s.reaches(&["sin"]) && !s.reaches(&["embedding"]);
        let mut attrs = s.with("step", AttrValue::float(2.0))?;
        *attrs.get_mut(s.op.attr_index("end")?)? = AttrValue::float(2.0 * end - start);
        rotary.then_some(Change::Attrs(attrs))
    }),
    // Operators.
    kind("form of gelu", |s| {
        let other = if s.attr("approximate")?.as_str()? == "tanh" { "none" } else { "tanh" };
        s.with("approximate", AttrValue::str(other)).map(Change::Attrs)
    }),
    kind("another activation", |s| {
        let other = match s.op.name {
            "gelu" => "relu",
            "silu" => "sigmoid",
            "relu" => "silu",
            "tanh" => "erf",
            "sigmoid" => "tanh",
            _ => return None,
        };
        s.is_varying().then(|| replaced(s, other))?
    }),
    kind("activation dropped", |s| {
        (matches!(s.op.name, "gelu" | "relu" | "silu") && s.is_varying()).then(|| passes_on(s, 0))?
    }),
    kind("sine for cosine", |s| {
        let other = if s.is("cos") { "sin" } else { "cos" };
        let turns = s.is("cos") || s.is("sin");
        turns.then(|| replaced(s, other))?
    }),
    kind("sign dropped", |s| (s.is("neg") && s.is_varying()).then(|| passes_on(s, 0))?),
    kind("norm dropped", |s| (s.is("layer_norm") || s.is("rms_norm")).then(|| passes_on(s, 0))?),
    kind("mean not subtracted", |s| {
        let (shape, eps) = (s.attr("normalized_shape")?, s.attr("eps")?);
        let (op, attrs) = call("rms_norm", &[("normalized_shape", shape.clone()), ("eps", eps.clone())])?;
        let operands = s.operands.iter().copied().take(2).collect();
        s.is("layer_norm").then_some(Change::Op(op, attrs, operands))
    }),
    kind("largest for mean", |s| {
        (s.is("mean") && s.is_varying())
            .then(|| Some(Change::Op(find("amax")?, s.attrs.clone(), s.operands.clone())))?
    }),
    kind("sum for product", |s| {
        let plain = s.is("mul") && s.is_varying() && s.varies(s.operands[0]) && s.varies(s.operands[1]);
        plain.then(|| replaced(s, "add"))?
    }),
    kind("through integers", |s| {
        // A wrong element type on the way: fractions are lost.
        let tables = matches!(s.op.name, "linear" | "addmm" | "sdpa" | "layer_norm");
        let dtype = s.ty().dtype;
        let back = call("cast", &[("dtype", AttrValue::DType(dtype))])?;
        let whole = call("cast", &[("dtype", AttrValue::DType(DType::I32))])?;
        (tables && s.is_varying()).then(|| Change::Then(vec![whole, back]))
    }),
    kind("smallest experts", |s| {
        let largest = s.attr("largest")?.as_bool()?;
        let k = s.attr("k")?.as_int()?;
        let size = s.operand_type(0)?.shape.get(usize::try_from(s.attr("dim")?.as_int()?).ok()?).copied()?;
        (s.is_varying() && k < size as i64).then(|| s.with("largest", AttrValue::Bool(!largest)).map(Change::Attrs))?
    }),
];

/// A float scalar that only operators named in `users` read, in the model proper, with another value.
fn scalar(s: &EditSite, users: &[&str], wanted: impl Fn(f64) -> bool, factor: f64) -> Option<Change> {
    let value = s.scalar(s.id.into()).filter(|&v| wanted(v))?;
    let reads = |user: NodeId| {
        s.maker(user.into()).is_some_and(|op| users.contains(&op.name)) && s.varies(user.into()) && s.is_live(user)
    };
    let read = s.ty().dtype.is_float() && s.graph.users(s.id).next().is_some() && s.graph.users(s.id).all(reads);
    // A common summand of scores does not show behind softmax.
    let hidden = users.contains(&"add") && s.graph.users(s.id).any(|u| s.users_of(u).contains(&"softmax"));
    (read && !hidden).then(|| s.with("value", AttrValue::float(value * factor)).map(Change::Attrs))?
}

/// The operator in place of the node, over the same operands. It takes no attributes.
fn replaced(s: &EditSite, op: &str) -> Option<Change> {
    Some(Change::Op(find(op)?, SmallVec::new(), s.operands.clone()))
}

/// The node's operand in place of its result.
fn passes_on(s: &EditSite, operand: usize) -> Option<Change> {
    Some(Change::Op(find("alias")?, SmallVec::new(), [*s.operands.get(operand)?].into_iter().collect()))
}

/// A sum of two values of the model, neither of them a bias, a mask or a constant.
fn is_residual(s: &EditSite) -> bool {
    let whole = |i: usize| {
        let Some(&v) = s.operands.get(i) else { return false };
        s.varies(v) && !s.is_parameter(v) && s.graph.ty(v) == s.ty()
    };
    s.is("add") && s.is_varying() && (2..=3).contains(&s.ty().rank()) && whole(0) && whole(1) && s.same_types(0, 1)
}

/// Operand `place`, a parameter, becomes the next parameter of the same type.
fn other_parameter(s: &EditSite, place: usize) -> Option<Change> {
    let old = *s.operands.get(place)?;
    let is_input = |n: NodeId| matches!(s.graph.node(n).kind, NodeKind::Input { role } if role != Role::User);
    let at = s.graph.inputs().iter().position(|&n| n == old.node && is_input(n))?;
    let inputs = s.graph.inputs();
    let later = inputs[at + 1..].iter().chain(&inputs[..at]);
    let other = later.copied().find(|&n| is_input(n) && s.graph.ty(n.into()) == s.graph.ty(old))?;
    let mut operands = s.operands.clone();
    operands[place] = other.into();
    Some(Change::Operands(operands))
}

/// The values that attention mixes, with heads in dimension 1.
fn is_values(s: &EditSite) -> bool {
    let behind = |v: Value| s.source(v) == s.id;
    let reads = |user: NodeId| {
        let operands = s.graph.operands(user);
        match s.maker(user.into()).map(|op| op.name) {
            Some("sdpa") => operands.get(2).is_some_and(|&v| behind(v)),
            Some("matmul") => {
                behind(operands[1]) && s.maker(s.source(operands[0]).into()).is_some_and(|op| op.name == "softmax")
            }
            _ => false,
        }
    };
    s.is("permute") && s.is_varying() && s.ty().rank() == 4 && s.readers().into_iter().any(reads)
}

/// Every element one place further along dimension `dim`.
fn rolled(s: &EditSite, dim: usize) -> Option<Change> {
    let ints = |v: i64| AttrValue::Ints([v].into_iter().collect());
    let more = *s.ty().shape.get(dim)? > 1;
    more.then(|| Some(Change::Then(vec![call("roll", &[("shifts", ints(1)), ("dims", ints(dim as i64))])?])))?
}

/// Key and value heads repeated as a whole, where each was repeated in a row: `repeat` for `repeat_interleave`.
fn repeated_whole(s: &EditSite) -> Option<Change> {
    // (batch, heads, times, tokens, size) as (batch, heads * times, tokens, size).
    let from = s.operand_type(0)?;
    let expanded = s.is("reshape") && s.maker(s.operands[0]).is_some_and(|op| op.name == "expand");
    let grouped = from.rank() == 5 && s.ty().rank() == 4 && from.shape[1] > 1 && from.shape[2] > 1;
    let joined = grouped && s.ty().shape[1] == from.shape[1] * from.shape[2];
    let dims = AttrValue::Ints([0, 2, 1, 3, 4].into_iter().collect());
    (expanded && joined && s.is_varying()).then(|| Some(Change::Before(vec![call("permute", &[("dims", dims)])?])))?
}

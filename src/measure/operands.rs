//! Builds operands on a device: random, of realistic scale, lying in memory as they should.

use smallvec::SmallVec;
use tch::{Device, Kind, TchError, Tensor};

use crate::energy::{CallParts, KernelKey};
use crate::eval::random::mix;
use crate::ir::{DType, Graph, Layout, NodeKind, Role, TensorType, Value};
use crate::ops::tensors::kind;
use crate::ops::{Arithmetic, Ask, Call, Family, Op, OpDef};

/// Scale of the parameters of a model, as libraries start them.
const PARAMETER_SCALE: f64 = 0.02;

/// Integers run up to this where nothing says what they count.
const FEW: i64 = 4;

/// What libtorch aligns large tensors to, and the size from which on it takes them for such.
const LARGE: usize = 2 << 20;

/// The widest gap, in steps of the alignment.
const WIDEST: u64 = 32;

/// Memory left unused between large tensors. Without, the sets of operands of a load lie alike, and what that does to an
/// operator's power and time is the same for all of them. Small tensors share pages, as they do in a model.
pub(super) struct Gaps {
    device: Device,
    pass: u32,
    kept: Vec<Tensor>,
}

impl Gaps {
    /// Gaps of widths of their own for each `pass`.
    pub(super) fn new(device: Device, pass: u32) -> Gaps {
        Gaps { device, pass, kept: Vec::new() }
    }

    /// Leaves a gap if a tensor of this size is large.
    fn leave_before(&mut self, bytes: usize) {
        if bytes < LARGE {
            return;
        }
        let steps = 1 + mix(u64::from(self.pass), self.kept.len() as u64) % WIDEST;
        self.kept.extend(Tensor::f_empty([steps as i64 * LARGE as i64], (Kind::Uint8, self.device)).ok());
    }

    /// The memory, to be kept for as long as the operands live.
    pub(super) fn into_kept(self) -> Vec<Tensor> {
        self.kept
    }
}

/// Elements of memory that a tensor of this layout spans.
pub(super) fn span(ty: &TensorType, layout: &Layout) -> usize {
    if ty.numel() == 0 {
        return 0;
    }
    1 + ty.shape.iter().zip(&layout.strides).map(|(&size, &stride)| (size - 1) * stride).sum::<usize>()
}

/// One set of operands of a key, with uneven gaps between them.
pub(super) fn of_key(key: &KernelKey, device: Device, gaps: &mut Gaps) -> Result<Vec<Tensor>, TchError> {
    let several = key.operands.iter().any(|o| o.ty.rank() > 0);
    let operand = |(i, operand): (usize, &crate::energy::KeyOperand)| {
        // A number in the source: PyTorch keeps it on the host and hands it to the kernel as an argument.
        // The logical operators take none; what a graph gives them is a tensor on the device.
        let logical = key.def().is_some_and(|def| matches!(def.arithmetic(), Arithmetic::And | Arithmetic::Or));
        let number = operand.ty.rank() == 0 && several && !logical;
        let device = if number { Device::Cpu } else { device };
        let layout = operand.layout.layout(&operand.ty.shape);
        gaps.leave_before(span(&operand.ty, &layout) * operand.ty.dtype.bytes());
        match asked(key, i) {
            Some(Ask::Ends(rows)) => parts(&operand.ty, rows, true, device),
            Some(Ask::Starts(rows)) => parts(&operand.ty, rows, false, device),
            Some(Ask::Below(limit)) => random(&operand.ty, &layout, (limit as i64).max(1), device),
            _ => {
                let tensor = random(&operand.ty, &layout, FEW, device)?;
                match key.def().and_then(|def| statistic(def, i)) {
                    Some(centre) => near(&tensor, centre),
                    None => Ok(tensor),
                }
            }
        }
    };
    key.operands.iter().enumerate().map(operand).collect()
}

/// One set of inputs of a part of a graph.
pub(super) fn of_graph(
    graph: &Graph,
    layouts: &[SmallVec<[Layout; 1]>],
    inputs: &[Value],
    device: Device,
) -> Result<Vec<Tensor>, TchError> {
    let input = |&value: &Value| {
        let ty = graph.ty(value);
        let layout = layouts.get(value.node.index()).and_then(|all| all.get(value.slot as usize)).cloned();
        let layout = layout.unwrap_or_else(|| Layout::contiguous(&ty.shape));
        let tensor = random(ty, &layout, value_limit(graph, value), device)?;
        let is_parameter = matches!(graph.node(value.node).kind, NodeKind::Input { role: Role::Parameter });
        let as_parameter = || is_parameter.then(|| if scales(graph, value) { 1.0 } else { 0.0 });
        let is_statistic = |(op, at): (&'static OpDef, usize)| statistic(op, at);
        match uses(graph, value).find_map(is_statistic).or_else(as_parameter) {
            Some(centre) if ty.dtype.is_float() => near(&tensor, centre),
            _ => Ok(tensor),
        }
    };
    inputs.iter().map(input).collect()
}

fn number(value: f64) -> Result<Tensor, TchError> {
    Tensor::f_from_slice(&[value])?.f_squeeze()
}

/// Values as those of a parameter, around `centre`. Numbers as tensors: the calls that take numbers panic where memory runs out.
fn near(values: &Tensor, centre: f64) -> Result<Tensor, TchError> {
    values.f_mul(&number(PARAMETER_SCALE)?)?.f_add(&number(centre)?)
}

/// The operators of the table that read a value, each with the place where it does.
fn uses(graph: &Graph, value: Value) -> impl Iterator<Item = (&'static OpDef, usize)> {
    graph.users(value.node).filter_map(move |user| {
        let NodeKind::Op { op: Op::Table(op), .. } = &graph.node(user).kind else { return None };
        Some((*op, graph.operands(user).iter().position(|v| *v == value)?))
    })
}

/// Whether a parameter is what normalised values are multiplied by. Libraries start those at one, and all others near nought.
fn scales(graph: &Graph, value: Value) -> bool {
    let is_weight = |op: &OpDef, at: usize| op.operands.get(at).is_some_and(|operand| operand.name == "weight");
    graph.ty(value).rank() == 1
        && uses(graph, value)
            .any(|(op, at)| op.arithmetic() == Arithmetic::Mul || op.family == Family::Norm && is_weight(op, at))
}

/// What an operand is near that holds statistics of the values to be normalised. The root of a negative variance is NaN, and
/// behind a mean far off a ReLU leaves only zeros: both take less energy than the values of a model.
fn statistic(op: &OpDef, at: usize) -> Option<f64> {
    match op.operands.get(at).filter(|_| op.family == Family::Norm)?.name {
        "mean" => Some(0.0),
        "var" => Some(1.0),
        _ => None,
    }
}

fn random(ty: &TensorType, layout: &Layout, limit: i64, device: Device) -> Result<Tensor, TchError> {
    let kind = kind(ty.dtype);
    let length = [span(ty, layout) as i64];
    let flat = match ty.dtype {
        // A coin per element; `randn` has no bool.
        DType::Bool => Tensor::f_randint(2, length, (Kind::Uint8, device))?.f_to_kind(kind)?,
        DType::F8E4M3 | DType::F8E5M2 => Tensor::f_randn(length, (Kind::Float, device))?.f_to_kind(kind)?,
        dtype if dtype.is_float() => Tensor::f_randn(length, (kind, device))?,
        _ => Tensor::f_randint(limit, length, (kind, device))?,
    };
    let sizes: Vec<i64> = ty.shape.iter().map(|&d| d as i64).collect();
    let strides: Vec<i64> = layout.strides.iter().map(|&s| s as i64).collect();
    flat.f_as_strided(sizes, strides, None)
}

/// One above the largest integer that a value may hold: the least that an operator which indexes by it allows. Looks
/// through operators that keep the elements.
fn value_limit(graph: &Graph, value: Value) -> i64 {
    if graph.ty(value).dtype.is_float() {
        return FEW;
    }
    let mut limit = None;
    let mut seen = vec![value];
    let mut at = 0;
    while let Some(&value) = seen.get(at) {
        at += 1;
        for user in graph.users(value.node) {
            let NodeKind::Op { op: Op::Table(op), attrs } = &graph.node(user).kind else { continue };
            let operands = graph.operands(user);
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| graph.ty(o)).collect();
            for (operand, ask) in (op.asks)(&Call { op, attrs, operands: &types }) {
                if let (Ask::Below(size), true) = (ask, operands.get(operand) == Some(&value)) {
                    limit = Some(limit.map_or(size, |known: usize| known.min(size)));
                }
            }
            if op.is_view_or_cast() && !seen.contains(&user.into()) {
                seen.push(user.into());
            }
        }
    }
    limit.map_or(FEW, |n| n as i64).max(1)
}

/// What the operator of a key asks of operand `index`.
fn asked(key: &KernelKey, index: usize) -> Option<Ask> {
    let parts = CallParts::of_key(key)?;
    let types: SmallVec<[&TensorType; 4]> = parts.types.iter().collect();
    let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
    (parts.def.asks)(&call).into_iter().find(|(operand, _)| *operand == index).map(|(_, ask)| ask)
}

/// Positions in ascending order that divide `rows` into parts of one size: where each one starts, or ends.
fn parts(ty: &TensorType, rows: usize, ends: bool, device: Device) -> Result<Tensor, TchError> {
    let count = ty.numel().max(1);
    let positions: Vec<i64> = (0..count).map(|i| ((i + usize::from(ends)) * rows / count) as i64).collect();
    let sizes: Vec<i64> = ty.shape.iter().map(|&d| d as i64).collect();
    Tensor::f_from_slice(&positions)?.f_reshape(sizes)?.f_to_kind(kind(ty.dtype))?.f_to_device(device)
}

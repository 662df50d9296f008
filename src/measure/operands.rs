//! The operands that something is measured with: random, of realistic scale, lying in memory as they should.

use serde::Serialize;
use smallvec::SmallVec;

use super::limits::limits;
use crate::emit::torch_dtype;
use crate::energy::{CallParts, KernelKey};
use crate::ir::{DType, Graph, Layout, NodeKind, Role, TensorType, Value};
use crate::ops::{Arithmetic, Ask, Call, Family, Op, OpDef};

/// Scale of the parameters of a model, as libraries start them.
const PARAMETER_SCALE: f64 = 0.02;

/// Integers run up to this where no operator indexes by them.
const FEW: i64 = 4;

/// One operand, before it is made.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Operand {
    #[serde(serialize_with = "as_torch_names_it")]
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    /// Elements of memory from the first to the last one.
    pub span: usize,
    /// It lies in the memory of the host, wherever the others do.
    pub on_host: bool,
    /// PyTorch is told that it is a parameter, as which it is multiplied by other kernels.
    pub is_parameter: bool,
    pub contents: Contents,
}

/// What an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Contents {
    /// Normally distributed numbers.
    Normal { mean: f64, deviation: f64 },
    /// Integers from 0 on that are less than this.
    Below(i64),
    /// In ascending order, where the parts of one size that so many rows fall into start, ...
    Starts(usize),
    /// ... or end.
    Ends(usize),
}

fn as_torch_names_it<S: serde::Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(torch_dtype(*dtype).trim_start_matches("torch."))
}

impl Operand {
    fn new(ty: &TensorType, layout: &Layout, contents: Contents) -> Operand {
        Operand {
            dtype: ty.dtype,
            shape: ty.shape.to_vec(),
            strides: layout.strides.to_vec(),
            span: span(ty, layout),
            on_host: false,
            is_parameter: false,
            contents,
        }
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.span.saturating_mul(self.dtype.bytes())
    }
}

/// Elements of memory that a tensor of this layout spans.
fn span(ty: &TensorType, layout: &Layout) -> usize {
    if ty.numel() == 0 {
        return 0;
    }
    let reach = ty.shape.iter().zip(&layout.strides).map(|(&size, &stride)| (size - 1).saturating_mul(stride));
    reach.fold(1, usize::saturating_add)
}

/// The operands of a key.
pub(super) fn of_key(key: &KernelKey, parts: &CallParts) -> Vec<Operand> {
    let several = key.operands.iter().any(|o| o.ty.rank() > 0);
    // The logical operators take no numbers; what a graph gives them is a tensor on the device.
    let logical = matches!(parts.def.arithmetic(), Arithmetic::And | Arithmetic::Or);
    let types: SmallVec<[&TensorType; 4]> = parts.types.iter().collect();
    let asks = (parts.def.asks)(&Call { op: parts.def, attrs: &parts.attrs, operands: &types });
    let operand = |(i, (operand, layout)): (usize, (&crate::energy::KeyOperand, &Layout))| {
        let ty = &operand.ty;
        let contents = match asks.iter().find(|(at, _)| *at == i).map(|(_, ask)| *ask) {
            Some(Ask::Ends(rows)) => Contents::Ends(rows),
            Some(Ask::Starts(rows)) => Contents::Starts(rows),
            Some(Ask::Below(limit)) => random(ty, limit as i64),
            _ => statistic(parts.def, i).filter(|_| ty.dtype.is_float()).map_or_else(|| random(ty, FEW), near),
        };
        // A number in the source: PyTorch keeps it on the host and hands it to the kernel as an argument.
        let on_host = ty.rank() == 0 && several && !logical;
        Operand { on_host, is_parameter: parts.def.takes_parameter(i, ty), ..Operand::new(ty, layout, contents) }
    };
    key.operands.iter().zip(&parts.layouts).enumerate().map(operand).collect()
}

/// What a part of a graph reads.
pub(super) fn of_graph(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], inputs: &[Value]) -> Vec<Operand> {
    let limits = limits(graph, inputs);
    let input = |&value: &Value| {
        let ty = graph.ty(value);
        let layout = layouts.get(value.node.index()).and_then(|all| all.get(value.slot as usize)).cloned();
        let layout = layout.unwrap_or_else(|| Layout::contiguous(&ty.shape));
        let of_model = matches!(graph.node(value.node).kind, NodeKind::Input { role: Role::Parameter });
        let as_parameter = || of_model.then(|| if scales(graph, value) { 1.0 } else { 0.0 });
        let centre = uses(graph, value).find_map(|(op, at)| statistic(op, at)).or_else(as_parameter);
        let centre = centre.filter(|_| ty.dtype.is_float());
        let contents = centre.map_or_else(|| random(ty, limits.get(&value).copied().unwrap_or(FEW)), near);
        let is_parameter = uses(graph, value).any(|(op, at)| op.takes_parameter(at, ty));
        Operand { is_parameter, ..Operand::new(ty, &layout, contents) }
    };
    inputs.iter().map(input).collect()
}

/// Normally distributed floats, integers below `limit`, a coin per bool.
fn random(ty: &TensorType, limit: i64) -> Contents {
    match ty.dtype {
        DType::Bool => Contents::Below(2),
        dtype if dtype.is_float() => Contents::Normal { mean: 0.0, deviation: 1.0 },
        _ => Contents::Below(limit.max(1)),
    }
}

/// Values as those of a parameter, around `mean`.
fn near(mean: f64) -> Contents {
    Contents::Normal { mean, deviation: PARAMETER_SCALE }
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
    match op.statistics? {
        (mean, _) if at == mean => Some(0.0),
        (_, variance) if at == variance => Some(1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_a_product_multiplies_by_is_a_parameter() {
        // As a plain tensor, PyTorch multiplied by this one in a batch of products, which took 19 % more energy on an H200.
        let key: KernelKey = "linear(f16[197, 32, 768] @order[1, 0, 2], f16[2304, 768], f16[2304])".parse().unwrap();
        let parts = CallParts::of_key(&key).unwrap();
        let parameters: Vec<bool> = of_key(&key, &parts).iter().map(|operand| operand.is_parameter).collect();
        assert_eq!(parameters, [false, true, false]);
    }
}

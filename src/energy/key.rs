//! What one energy figure belongs to: an operator at given attributes, operand types, operand layouts and math mode.

use std::fmt;

use smallvec::SmallVec;

use crate::ir::{AttrValue, DType, Layout, MathConfig, TensorType};
pub use crate::ops::MathMode;
use crate::ops::{AttrKind, Call, Default, Op, OpDef};

/// Attributes that change values and not which kernel runs or how long. They are left out of keys, so that
/// a norm with another `eps` finds the same figure.
const NEUTRAL_ATTRS: [&str; 5] = ["eps", "scale", "value", "p", "alpha"];

/// How an operand lies in memory, as far as a kernel's cost depends on it. Offsets are left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayoutClass {
    /// Dense row-major.
    Contiguous,
    /// Dense in another order of the dimensions: the dimensions from the slowest to the fastest.
    Order(SmallVec<[usize; 4]>),
    /// With gaps or repeats: the stride of every dimension, in elements. Dimensions of size 1 have stride 0.
    Strides(SmallVec<[usize; 4]>),
}

impl LayoutClass {
    /// The class of a tensor of shape `shape` that lies in memory as `layout` says.
    pub fn of(shape: &[usize], layout: &Layout) -> Self {
        if layout.is_contiguous(shape) {
            return LayoutClass::Contiguous;
        }
        if layout.is_dense(shape) {
            let stride = |d: &usize| if shape[*d] == 1 { usize::MAX } else { layout.strides[*d] };
            let mut order: SmallVec<[usize; 4]> = (0..shape.len()).collect();
            order.sort_by_key(|d| std::cmp::Reverse(stride(d)));
            return LayoutClass::Order(order);
        }
        let strides = shape.iter().zip(&layout.strides).map(|(&size, &stride)| if size == 1 { 0 } else { stride });
        LayoutClass::Strides(strides.collect())
    }

    /// A layout of this class for a tensor of `shape`.
    pub fn layout(&self, shape: &[usize]) -> Layout {
        match self {
            LayoutClass::Contiguous => Layout::contiguous(shape),
            LayoutClass::Order(order) => {
                let mut layout = Layout::contiguous(shape);
                let mut stride = 1;
                for &d in order.iter().rev() {
                    layout.strides[d] = stride;
                    stride *= shape[d].max(1);
                }
                layout
            }
            LayoutClass::Strides(strides) => Layout { strides: strides.clone(), offset: 0 },
        }
    }

    /// Whether elements repeat in memory (stride 0 over more than one element).
    pub fn is_expanded(&self, shape: &[usize]) -> bool {
        matches!(self, LayoutClass::Strides(s) if s.iter().zip(shape).any(|(&stride, &size)| stride == 0 && size > 1))
    }
}

/// One operand of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyOperand {
    /// Element type and shape.
    pub ty: TensorType,
    /// How it lies in memory.
    pub layout: LayoutClass,
}

/// The key of one operator execution. Its text form ([`fmt::Display`], [`std::str::FromStr`]) is what profiles hold:
/// `matmul(f32[8, 4], f32[4, 6] @order[1, 0]) math=tf32`. Attributes that have their default are left out.
/// Calls that run the same kernel on the same memory have the same key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelKey {
    /// The name of the operator.
    pub op: String,
    /// Attributes that are not neutral to cost and differ from their default, in the order of the definition.
    pub attrs: Vec<(String, AttrValue)>,
    /// What it reads, in order.
    pub operands: Vec<KeyOperand>,
    /// The mode that its products are computed in, where it has any.
    pub math: Option<MathMode>,
}

impl KernelKey {
    /// The key of a call, with the layouts its operands have.
    pub fn of_call(call: &Call, layouts: &[&Layout], config: &MathConfig) -> KernelKey {
        KernelKey::written_of_call(call, layouts, config).canonical()
    }

    /// As [`of_call`](Self::of_call), for the call as it is written.
    pub(super) fn written_of_call(call: &Call, layouts: &[&Layout], config: &MathConfig) -> KernelKey {
        let types: SmallVec<[&TensorType; 4]> = call.operands.iter().copied().collect();
        KernelKey::written(&Op::Table(call.op), call.attrs, &types, layouts, config)
    }

    pub(super) fn written(
        op: &Op,
        attrs: &[AttrValue],
        types: &[&TensorType],
        layouts: &[&Layout],
        config: &MathConfig,
    ) -> KernelKey {
        let operands = types.iter().zip(layouts);
        let operands: Vec<KeyOperand> = operands
            .map(|(ty, layout)| KeyOperand { ty: (*ty).clone(), layout: LayoutClass::of(&ty.shape, layout) })
            .collect();
        let math = op.def().and_then(|def| def.math_mode(types, config));
        KernelKey { op: op.name().to_owned(), attrs: costly_attrs(op, attrs), operands, math }
    }

    /// The op table's entry, unless the operator is opaque.
    pub fn def(&self) -> Option<&'static OpDef> {
        crate::ops::find(&self.op)
    }

    /// Bytes that its operands hold.
    pub(super) fn operand_bytes(&self) -> f64 {
        self.operands.iter().map(|o| o.ty.bytes() as f64).sum()
    }

    /// The element type whose arithmetic the operator does: the widest float among the operands, else the first.
    pub fn compute_dtype(&self) -> Option<DType> {
        let floats = self.operands.iter().map(|o| o.ty.dtype).filter(|d| d.is_float());
        floats.max_by_key(|d| d.bytes()).or_else(|| self.operands.first().map(|o| o.ty.dtype))
    }
}

fn costly_attrs(op: &Op, attrs: &[AttrValue]) -> Vec<(String, AttrValue)> {
    let default = |i: usize| op.def().and_then(|def| def.attrs.get(i)).map_or(Default::Required, |a| a.default);
    attrs
        .iter()
        .enumerate()
        .filter_map(|(i, value)| Some((i, op.attr_name(i)?, value)))
        .filter(|(i, name, value)| {
            !NEUTRAL_ATTRS.contains(name) && !default(*i).value().is_some_and(|d| d.is_same(value))
        })
        .map(|(i, name, value)| (name.to_owned(), key_value(op, i, value)))
        .collect()
}

/// Numbers stand in keys as floats, whatever the element type is.
fn key_value(op: &Op, attr: usize, value: &AttrValue) -> AttrValue {
    let kind = op.def().and_then(|def| def.attrs.get(attr)).map(|a| a.kind);
    match (kind, value.as_float()) {
        (Some(AttrKind::Number), Some(number)) => AttrValue::float(number),
        _ => value.clone(),
    }
}

impl fmt::Display for KeyOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ty)?;
        match &self.layout {
            LayoutClass::Contiguous => Ok(()),
            LayoutClass::Order(order) => write!(f, " @order{order:?}"),
            LayoutClass::Strides(strides) => write!(f, " @strides{strides:?}"),
        }
    }
}

impl fmt::Display for KernelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.op)?;
        for (i, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if i == 0 { "" } else { ", " })?;
        }
        for (i, (name, value)) in self.attrs.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "; " } else { ", " })?;
        }
        f.write_str(")")?;
        match self.math {
            Some(math) => write!(f, " math={}", math.name()),
            None => Ok(()),
        }
    }
}

//! The op table: everything the tool knows about an operator stands in one entry of one family file.

mod attention;
mod conv;
mod create;
mod elementwise;
#[cfg(test)]
mod hostile_tests;
mod index;
mod linear;
mod math;
mod norm;
mod rearrange;
mod reduce;
#[cfg(feature = "torch")]
pub mod replay;
#[cfg(feature = "torch")]
pub mod replay_graph;
mod scatter;
pub mod shapes;
mod spectral;
mod view;

pub use linear::{Contraction, Line, contraction};
pub use math::MathMode;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::{AttrValue, Attrs, Layout, TensorType};

/// An operand in an operator's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandDef {
    pub name: &'static str,
    pub arity: Arity,
}

/// How often an operand may be given. Optional operands stand behind the required ones, a list stands last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    One,
    Optional,
    Many,
}

pub const fn one(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::One }
}

pub const fn optional(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::Optional }
}

pub const fn many(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::Many }
}

/// What kind of value an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    Bool,
    Int,
    /// A float; an integer literal is taken as one.
    Float,
    Str,
    DType,
    Ints,
    /// An index into the dimensions of the first operand. Stored non-negative.
    Dim,
    /// Indices into the dimensions of the first operand. Stored non-negative.
    Dims,
}

/// The value of an attribute that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The attribute has to be given.
    Required,
    /// Not given stays "none", a value of its own.
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'static str),
}

impl Default {
    /// The stored form; `None` if the attribute has to be given.
    pub fn value(self) -> Option<AttrValue> {
        match self {
            Default::Required => None,
            Default::None => Some(AttrValue::None),
            Default::Bool(v) => Some(AttrValue::Bool(v)),
            Default::Int(v) => Some(AttrValue::Int(v)),
            Default::Float(v) => Some(AttrValue::float(v)),
            Default::Str(v) => Some(AttrValue::str(v)),
        }
    }
}

/// An attribute in an operator's signature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttrDef {
    pub name: &'static str,
    pub kind: AttrKind,
    pub default: Default,
}

pub const fn attr(name: &'static str, kind: AttrKind, default: Default) -> AttrDef {
    AttrDef { name, kind, default }
}

/// Operator family: one source file each, and one set of coefficients in the energy estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    Elementwise,
    Linear,
    Norm,
    Attention,
    View,
    Reduce,
    Index,
    Conv,
    Create,
    Spectral,
}

/// Output types, one per slot.
pub type Types = SmallVec<[TensorType; 1]>;

/// Reads element `index` of operand number `operand`.
pub type Fetch<'a> = dyn FnMut(usize, &[usize]) -> Result<f64, EvalError> + 'a;

/// Computes a lane of an output: see [`Kernel::Lane`].
pub type Lane = fn(&Call, usize, &[usize], &mut Fetch) -> Result<Vec<f64>, EvalError>;

/// The reference semantics of an operator over the real numbers, element by element, so that single
/// elements can be computed at full size without materialising a tensor.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Computes element `index` of output `slot`.
    Element(fn(&Call, usize, &[usize], &mut Fetch) -> Result<f64, EvalError>),
    /// Computes a whole lane: all elements of output `slot` whose indices agree with the given one
    /// outside of `axes`, in row-major order over `axes`. For operators whose elements share work.
    Lane { axes: fn(&Call) -> SmallVec<[usize; 4]>, lane: Lane },
    /// No reference semantics, for example because the data type cannot be evaluated.
    Opaque,
}

/// How an operator's output lies in memory.
#[derive(Clone, Copy)]
pub enum LayoutRule {
    /// A new dense row-major tensor.
    Contiguous,
    /// PyTorch's rule for elementwise kernels: keep the operands' dense permuted order if there is one.
    Elementwise,
    /// An alias of operand 0 (no kernel, no bytes), or `None` where the strides demand a copy.
    View(fn(&Call, usize, &Layout) -> Option<Layout>),
}

/// Which execution units do an operator's arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Matrix units (tensor cores), at the rate of the operand type and math mode.
    Matrix,
    /// Ordinary vector units.
    Vector,
}

/// The work an operator has to do, from its types alone. `kernels` is 0 for pure views.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Elements read per operand are those of the operand, unless the operator reads only this many bytes.
    pub bytes_read: f64,
    pub bytes_written: f64,
    pub kernels: u32,
    pub unit: Unit,
}

/// An operator of the table.
pub struct OpDef {
    pub name: &'static str,
    /// One line for the reference page.
    pub doc: &'static str,
    pub family: Family,
    pub operands: &'static [OperandDef],
    pub attrs: &'static [AttrDef],
    /// Whether the first two operands may be swapped, bit for bit.
    pub commutative: bool,
    /// Output types from operand types and attributes. Refuses whatever PyTorch would refuse.
    pub infer: fn(&Call) -> Result<Types, TypeError>,
    pub kernel: Kernel,
    pub layout: LayoutRule,
    /// Work counts, given the output types.
    pub work: fn(&Call, &[TensorType]) -> Work,
}

impl fmt::Debug for OpDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for OpDef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl OpDef {
    /// The attribute's position in [`Attrs`].
    pub fn attr_index(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| a.name == name)
    }

    /// The attributes with every default filled in; `None` if one of them has to be given.
    pub fn default_attrs(&self) -> Option<Attrs> {
        self.attrs.iter().map(|a| a.default.value()).collect()
    }

    /// Attributes from names and values, defaults filled in.
    pub fn attrs(&self, given: &[(&str, AttrValue)]) -> Result<Attrs, TypeError> {
        for (name, _) in given {
            if self.attr_index(name).is_none() {
                return Err(TypeError::new(self.name, format!("has no attribute `{name}`")));
            }
        }
        let value = |a: &AttrDef| {
            let found = given.iter().find(|(n, _)| *n == a.name).map(|(_, v)| v.clone());
            found
                .or_else(|| a.default.value())
                .ok_or_else(|| TypeError::new(self.name, format!("needs the attribute `{}`", a.name)))
        };
        self.attrs.iter().map(value).collect()
    }

    /// Fewest and most operands.
    pub fn operand_count(&self) -> (usize, usize) {
        let least = self.operands.iter().filter(|o| o.arity == Arity::One).count();
        let many = self.operands.iter().any(|o| o.arity == Arity::Many);
        (least, if many { usize::MAX } else { self.operands.len() })
    }
}

/// An operator that is not in the table: from a file, or defined by a rule file.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CustomOp {
    pub name: String,
    /// Names of the attributes, in the order of [`Attrs`].
    pub attrs: Vec<String>,
}

/// An operator as a node refers to it.
#[derive(Clone, Debug)]
pub enum Op {
    Table(&'static OpDef),
    /// Equal only to itself on equal operands, unless a rule defines it.
    Custom(Arc<CustomOp>),
}

impl Op {
    pub fn name(&self) -> &str {
        match self {
            Op::Table(def) => def.name,
            Op::Custom(op) => &op.name,
        }
    }

    pub fn def(&self) -> Option<&'static OpDef> {
        match self {
            Op::Table(def) => Some(def),
            Op::Custom(_) => None,
        }
    }

    /// The name of attribute number `i`.
    pub fn attr_name(&self, i: usize) -> Option<&str> {
        match self {
            Op::Table(def) => def.attrs.get(i).map(|a| a.name),
            Op::Custom(op) => op.attrs.get(i).map(String::as_str),
        }
    }

    pub fn commutative(&self) -> bool {
        self.def().is_some_and(|d| d.commutative)
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Op::Table(a), Op::Table(b)) => std::ptr::eq(*a, *b),
            (Op::Custom(a), Op::Custom(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Op {}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// An operator applied to operands of known types.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub op: &'static OpDef,
    pub attrs: &'a [AttrValue],
    pub operands: &'a [&'a TensorType],
}

/// Why an operator does not accept its operands or attributes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{op} {reason}")]
pub struct TypeError {
    pub op: &'static str,
    pub reason: String,
}

impl TypeError {
    pub fn new(op: &'static str, reason: impl Into<String>) -> Self {
        TypeError { op, reason: reason.into() }
    }
}

/// Why an element could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("`{0}` has no reference semantics")]
    NoSemantics(String),
    #[error("an index is outside of its dimension")]
    IndexOutOfRange,
    #[error("an integer is divided by 0")]
    DivisionByZero,
    #[error("the evaluation budget is used up")]
    Budget,
}

impl<'a> Call<'a> {
    /// Output types, after checking operand count and attribute kinds.
    pub fn infer(&self) -> Result<Types, TypeError> {
        let (least, most) = self.op.operand_count();
        if self.operands.len() < least || self.operands.len() > most {
            return Err(self.error(format!(
                "takes {} operands, {} are given",
                wording(least, most),
                self.operands.len()
            )));
        }
        if self.attrs.len() != self.op.attrs.len() {
            return Err(self.error("has the wrong number of attributes"));
        }
        for (def, value) in self.op.attrs.iter().zip(self.attrs) {
            if !kind_accepts(def, value) {
                return Err(self.error(format!("takes no {value} as `{}`", def.name)));
            }
        }
        (self.op.infer)(self)
    }

    pub fn error(&self, reason: impl Into<String>) -> TypeError {
        TypeError::new(self.op.name, reason)
    }

    fn attr(&self, name: &str) -> &'a AttrValue {
        // Attribute names are literals in the op's own entry; `infer` has checked the count, and a test
        // looks up every name that an entry uses.
        self.op.attr_index(name).map_or(&AttrValue::None, |i| &self.attrs[i])
    }

    /// Attribute `name` as an integer, 0 where it is none.
    pub fn int(&self, name: &str) -> i64 {
        self.attr(name).as_int().unwrap_or(0)
    }

    /// Attribute `name` as a dimension or size that [`Call::infer`] has found to be non-negative.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or(0)
    }

    pub fn float(&self, name: &str) -> f64 {
        self.attr(name).as_float().unwrap_or(f64::NAN)
    }

    pub fn bool(&self, name: &str) -> bool {
        self.attr(name).as_bool().unwrap_or(false)
    }

    pub fn str(&self, name: &str) -> &'a str {
        self.attr(name).as_str().unwrap_or("")
    }

    pub fn ints(&self, name: &str) -> &'a [i64] {
        self.attr(name).as_ints().unwrap_or(&[])
    }

    pub fn dtype(&self, name: &str) -> Option<crate::ir::DType> {
        self.attr(name).as_dtype()
    }

    /// Whether an optional attribute is given.
    pub fn given(&self, name: &str) -> bool {
        *self.attr(name) != AttrValue::None
    }

    /// Output types of a call that has been inferred before; empty if it is ill-typed.
    pub fn types(&self) -> Types {
        (self.op.infer)(self).unwrap_or_default()
    }

    pub fn work(&self, outputs: &[TensorType]) -> Work {
        (self.op.work)(self, outputs)
    }
}

fn wording(least: usize, most: usize) -> String {
    match most {
        usize::MAX => format!("at least {least}"),
        _ if least == most => least.to_string(),
        _ => format!("{least} to {most}"),
    }
}

fn kind_accepts(def: &AttrDef, value: &AttrValue) -> bool {
    match (def.kind, value) {
        (_, AttrValue::None) => def.default == Default::None,
        (AttrKind::Bool, AttrValue::Bool(_))
        | (AttrKind::Int, AttrValue::Int(_))
        | (AttrKind::Float, AttrValue::Float(_))
        | (AttrKind::Str, AttrValue::Str(_))
        | (AttrKind::DType, AttrValue::DType(_))
        | (AttrKind::Ints, AttrValue::Ints(_)) => true,
        (AttrKind::Dim, AttrValue::Int(d)) => *d >= 0,
        (AttrKind::Dims, AttrValue::Ints(dims)) => dims.iter().all(|&d| d >= 0),
        _ => false,
    }
}

impl Work {
    /// A pure view.
    pub const NONE: Work = Work { flops: 0.0, bytes_read: 0.0, bytes_written: 0.0, kernels: 0, unit: Unit::Vector };

    /// One kernel that reads every operand once, writes every output once and does `flops` operations.
    pub fn streaming(call: &Call, outputs: &[TensorType], flops: f64, unit: Unit) -> Work {
        Work {
            flops,
            bytes_read: call.operands.iter().map(|t| t.bytes() as f64).sum(),
            bytes_written: outputs.iter().map(|t| t.bytes() as f64).sum(),
            kernels: 1,
            unit,
        }
    }
}

static TABLE: LazyLock<FxHashMap<&'static str, &'static OpDef>> =
    LazyLock::new(|| all().map(|def| (def.name, def)).collect());

/// Every operator of the table, family by family.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    [
        elementwise::OPS,
        linear::OPS,
        norm::OPS,
        attention::OPS,
        view::OPS,
        reduce::OPS,
        index::OPS,
        scatter::OPS,
        rearrange::OPS,
        conv::OPS,
        create::OPS,
        spectral::OPS,
    ]
    .into_iter()
    .flatten()
}

/// The operator of that name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    TABLE.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        assert_eq!(TABLE.len(), all().count());
    }

    #[test]
    fn optional_operands_stand_last() {
        for def in all() {
            let arities: Vec<_> = def.operands.iter().map(|o| o.arity as u8).collect();
            assert!(arities.is_sorted(), "{}", def.name);
        }
    }
}

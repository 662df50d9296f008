//! The op table: everything the tool knows about an operator stands in one entry of one family file.

#[macro_use]
pub mod aten;
#[macro_use]
mod on_torch;
#[macro_use]
mod pointwise;

mod activation;
mod adaptive;
mod antialias;
mod arithmetic;
mod asks;
mod aten_formulas;
mod attention;
mod batch_statistics;
mod bounds;
mod call;
mod called;
mod columns;
mod comparison;
mod complex;
mod conv;
mod create;
mod digits;
mod effects;
mod elements;
mod elementwise;
mod extreme;
mod fold;
mod fourier;
mod functions;
mod fused_attention;
pub(crate) mod grid_sample;
#[cfg(test)]
mod hostile_tests;
mod index;
mod interval;
mod launch;
mod length;
mod linear;
mod math;
mod meaning;
mod norm;
mod numbers;
mod places;
mod rearrange;
mod reduce;
#[cfg(feature = "torch")]
pub mod replay;
#[cfg(feature = "torch")]
mod replay_error;
#[cfg(feature = "torch")]
mod replay_formulas;
#[cfg(feature = "torch")]
pub mod replay_graph;
mod resample;
mod running;
#[cfg(feature = "torch")]
pub mod scalars;
mod scatter;
mod semantics;
pub mod shapes;
mod signature;
mod special;
mod spectral;
mod support;
mod synthesis;
mod table;
#[cfg(feature = "torch")]
pub mod tensors;
pub mod ties;
mod transposed;
mod view;
mod window_view;
mod work;

pub use asks::Ask;
pub use aten::Aten;
pub use attention::{Nonzero, attend, attention_key};
pub use bounds::{Bounds, Magnitudes, Ranges, Sign, bounds_hold, range, range_of, sign_of};
pub use call::Types;
pub use call::{Call, EvalError, TypeError, canonical_attrs};
pub use called::{is_called, operand_read};
pub use conv::Footprint;
pub use create::{is_number, number, numbers_to_store};
pub use digits::{Digit, Digits, Renumbering};
pub use effects::{DRAW, Effects, Given, effects};
pub use elements::{Elements, Moved};
pub use fold::Fold;
pub use fourier::norm_of as fourier_norm;
pub use interval::Interval;
pub use launch::Launch;
pub use linear::{Contraction, Line, contraction};
pub use math::MathMode;
pub use meaning::{Arithmetic, Comparison, Movement, RowFunction, Triangle};
pub use numbers::{as_number, is_in_range, keeps_both, shortest_number, stored_number};
pub use on_torch::Replay;

pub use places::Along;
pub use semantics::{Axes, Element, Fetch, FetchAs, FetchReal, Kernel, Lane, LayoutRule};
pub use signature::{Arity, AttrDef, AttrKind, Default, OperandDef, attr, many, one, optional};
pub use support::{Dim, Dims, Known, PlaceSet, Support, Supports, support};
pub use synthesis::Synthesis;
pub use table::{all, find, moving};
pub use work::{Unit, Work};

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ir::{AttrValue, Attrs, Layout, TensorType};

/// Operator family: one source file each.
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
    Complex,
    Spectral,
}

/// Kernels whose time and power follow from their work in one way: they share a model in the energy estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelClass {
    /// Each element is read or written once: elementwise operators, copies, constants.
    Streaming,
    /// Reductions, norms and softmax: rows that are read once or a few times.
    Rows,
    /// Norms of which one block of threads reads each group of elements by itself, and waits for them.
    Moments,
    /// Softmax along a dimension whose elements do not lie side by side.
    Columns,
    Product,
    /// One fused kernel.
    Attention,
    /// One fused kernel that reads a mask.
    MaskedAttention,
    /// Attention that no fused kernel takes: products and a softmax, one after the other.
    AttentionInSteps,
    /// Filters that reach over several places and channels.
    Convolution,
    /// Convolutions with filters of one place that visit every place: products.
    Pointwise,
    /// Convolutions of which each filter reads a part of the channels.
    Grouped,
    /// Convolutions of which each filter reads one channel.
    Depthwise,
    /// Pooling and resampling: windows of elements.
    Window,
    /// Elements read at places that a tensor holds.
    Gather,
    /// Elements written at places that a tensor holds.
    Scatter,
    /// Running sums and the like along rows.
    Scan,
    /// Running sums and the like of elements that do not lie side by side: one thread walks down each column.
    ColumnScan,
    /// Sorting and selecting by rank.
    Order,
    /// Matrix factorisations, which wait for the host.
    Factorisation,
}

impl KernelClass {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            KernelClass::Streaming => "streaming",
            KernelClass::Rows => "rows",
            KernelClass::Moments => "moments",
            KernelClass::Columns => "columns",
            KernelClass::Product => "product",
            KernelClass::Attention => "attention",
            KernelClass::MaskedAttention => "masked attention",
            KernelClass::AttentionInSteps => "attention in steps",
            KernelClass::Convolution => "convolution",
            KernelClass::Pointwise => "pointwise",
            KernelClass::Grouped => "grouped",
            KernelClass::Depthwise => "depthwise",
            KernelClass::Window => "window",
            KernelClass::Gather => "gather",
            KernelClass::Scatter => "scatter",
            KernelClass::Scan => "scan",
            KernelClass::ColumnScan => "column scan",
            KernelClass::Order => "order",
            KernelClass::Factorisation => "factorisation",
        }
    }
}

/// Whether an operator gives numbers far beyond those that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amplifies {
    Never,
    /// Where both operands are the same value.
    Squared,
    /// It squares elements of operand 0 on the way, though its results are small.
    Inside,
    Always,
}

/// Whether an operator's result is chance: random numbers, or memory that nobody has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    Never,
    /// Where this attribute is on.
    Where(&'static str),
    /// At every call, from no generator: memory as it is found.
    Memory,
}

/// When the result of an operator can be switched off: made 0 by parameters of 0, as far as a model relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vanishes {
    Never,
    /// Where parameters are 0: the operand `weight`, and `bias` if there is one.
    WithWeight {
        weight: usize,
        bias: Option<usize>,
    },
    /// Where an operand is 0, and the parameter `bias` if there is one. What is added to in place counts as a residual.
    With {
        operand: usize,
        bias: Option<usize>,
    },
    /// Where any of two operands is 0.
    WithAny,
    /// Where all operands are 0.
    WithAll,
    /// A sum of two: where both are 0. A sum of one that can be and one that cannot is a residual.
    WithBoth,
}

/// An operator of the table. An entry states what is its own, and takes the rest from what its family has in common, or
/// from `OpDef::PLAIN`.
pub struct OpDef {
    pub name: &'static str,
    /// One line for the reference page.
    pub doc: &'static str,
    pub family: Family,
    /// The operands that hold the mean and the variance of what is to be normalised.
    pub statistics: Option<(usize, usize)>,
    /// The operand that is a parameter of a model, most often, where it is a matrix. Libtorch copies rows that do not lie side by
    /// side in front of one product with a parameter; with any other matrix it makes a batch of products, which reads the matrix
    /// again for each.
    pub weight: Option<usize>,
    /// Which kernels it runs, as far as their cost is concerned.
    pub kernels: KernelClass,
    /// The kernels of a call that runs others than the operator mostly does, by how its operands lie in memory.
    pub special_kernels: fn(&Call, &[&Layout]) -> Option<KernelClass>,
    /// What such kernels do beyond the work of the operator.
    pub further_work: fn(&Call, &[&Layout]) -> Work,
    /// How many places each result is computed from, in operators that move a window over their operand; else 1.
    pub window: fn(&Call) -> usize,
    /// How many elements share one mean and one variance, in norms over channels; else 1.
    pub normalised_together: fn(&Call) -> usize,
    pub operands: &'static [OperandDef],
    pub attrs: &'static [AttrDef],
    /// Whether the first two operands may be swapped, bit for bit.
    pub commutative: bool,
    /// Two operands, other than the first two of a commutative operator, that one kernel takes in either order.
    pub interchangeable: Option<(usize, usize)>,
    /// Output types from operand types and attributes. Refuses whatever PyTorch would refuse.
    pub infer: fn(&Call) -> Result<Types, TypeError>,
    pub kernel: Kernel,
    /// Where the elements of the result come from.
    pub elements: Elements,
    /// The dimensions of operand 0, or of all operands that stand in a row, along which whole places are moved, in operators that
    /// do nothing else: taken, repeated, joined or put in another order, whatever is in them.
    pub moves_along: fn(&Call) -> Option<Along>,
    /// The output that holds places along `dim`, beside one that holds the elements there.
    pub places: Option<u32>,
    /// Which digits of the operands' places are renumbered along with a digit of an output's.
    pub digits: fn(&Renumbering) -> Option<Digits>,
    /// What it gives for constants.
    pub fold: Fold,
    pub layout: LayoutRule,
    /// How libtorch folds dimensions before it launches a kernel.
    pub launch: Launch,
    /// Work counts, given the output types.
    pub work: fn(&Call, &[TensorType]) -> Work,
    /// How many elements each of so many results may be computed from, where that can be more than a few.
    pub reads: fn(&Call, usize) -> usize,
    /// What bounds on the operands say about the elements of output 0.
    pub bounds: Bounds,
    /// Whether two calls on the same operands may differ.
    pub draws: Draws,
    /// Whether every element of the result is one that it was given, at most limited or rounded: none wraps around.
    pub hands_on: bool,
    /// Of a function of one number: a number that gives this result, if there is one.
    pub inverse: Option<fn(f64) -> f64>,
    /// Whether the result may leave the range of its type although the operands lie well inside.
    pub amplifies: Amplifies,
    /// What values of its operands make sense, by operand.
    pub asks: fn(&Call) -> Vec<(usize, Ask)>,
    /// Where the elements of an output can be other than 0, from where those of the operands can.
    pub support: fn(&Supports) -> Option<Dims>,
    /// When the result can be switched off.
    pub vanishes: Vanishes,
    /// How operands are chosen for a wanted result.
    pub synthesis: Synthesis,
    /// The calls of PyTorch that compute the same, as data.
    pub aten: Aten,
    /// The call of libtorch that computes the same.
    pub replay: Replay,
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
    /// An operator of which nothing is known. Name, line, type rule and work have to be stated.
    pub(crate) const PLAIN: OpDef = OpDef {
        name: "",
        doc: "",
        family: Family::Elementwise,
        kernels: KernelClass::Streaming,
        special_kernels: |_, _| None,
        further_work: |_, _| Work::NONE,
        statistics: None,
        weight: None,
        window: |_| 1,
        normalised_together: |_| 1,
        operands: &[],
        attrs: &[],
        commutative: false,
        interchangeable: None,
        infer: untyped,
        kernel: Kernel::Opaque,
        elements: Elements::Unknown,
        moves_along: |_| None,
        places: None,
        digits: |r| r.by_elements(),
        fold: Fold::FromElements,
        layout: LayoutRule::Contiguous,
        launch: Launch::AsStated,
        work: unstated,
        reads: |_, _| 0,
        bounds: Bounds::UNKNOWN,
        draws: Draws::Never,
        hands_on: false,
        inverse: None,
        amplifies: Amplifies::Never,
        asks: |_| Vec::new(),
        support: |_| None,
        vanishes: Vanishes::Never,
        synthesis: Synthesis::Broadcast,
        aten: Aten::Never("its entry states none"),
        replay: None,
    };

    /// Whether operand `at` of this type is taken for a parameter of a model, see [`OpDef::weight`].
    pub fn takes_parameter(&self, at: usize, ty: &TensorType) -> bool {
        self.weight == Some(at) && ty.rank() == 2 && ty.dtype.is_float()
    }

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

/// The type rule of an operator whose entry states none.
fn untyped(call: &Call) -> Result<Types, TypeError> {
    Err(call.error("has no type rule"))
}

/// The work of an operator whose entry does not say.
fn unstated(call: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(call, outputs, 0.0, Unit::Vector)
}

/// An operator that is not in the table: from a file, or defined by a rule file.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CustomOp {
    pub name: String,
    /// Names of the attributes in alphabetical order, which is that of [`Attrs`].
    pub attrs: Vec<String>,
}

impl CustomOp {
    /// An operator with attributes in any order.
    pub fn new(name: &str, mut attrs: Vec<String>) -> Self {
        attrs.sort_unstable();
        CustomOp { name: name.to_owned(), attrs }
    }

    /// The operator that a call with these attributes calls, and their values in its order.
    pub fn called(name: &str, mut attrs: Vec<(String, AttrValue)>) -> (Op, Attrs) {
        attrs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (attrs, values): (Vec<String>, Attrs) = attrs.into_iter().unzip();
        (Op::Custom(Arc::new(CustomOp { name: name.to_owned(), attrs })), values)
    }
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

    /// See [`OpDef::arithmetic`].
    pub fn arithmetic(&self) -> Arithmetic {
        self.def().map_or(Arithmetic::Other, OpDef::arithmetic)
    }

    /// See [`OpDef::movement`].
    pub fn movement(&self) -> Option<Movement> {
        self.def()?.movement()
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

//! The facet `aten` of an operator's entry: the calls of PyTorch that compute it, as data. Python text and exported programs are
//! both written from it; libtorch is not needed.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{Call, Types};
use crate::ir::{AttrValue, DType, Ints, Number, TensorType};

/// How PyTorch computes an operator.
pub enum Aten {
    /// By no call, for this reason.
    Never(&'static str),
    /// By one call, whose first results are those of the operator.
    One(&'static Form),
    /// By several calls, or by one that depends on types and attributes.
    Some(fn(&mut Calls) -> Stated),
}

/// A call whose arguments are the operands and attributes of the operator.
pub struct Form {
    /// Name and overload, without the namespace `aten`. The default overload is not named.
    pub target: &'static str,
    pub positional: &'static [(&'static str, Source)],
    pub keyword: &'static [(&'static str, Source)],
    /// Whether the results are one list of tensors.
    pub list: bool,
}

/// Where an argument of a call comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// An operand, as a tensor.
    Operand(usize),
    /// An operand that PyTorch also takes as a number.
    Either(usize),
    /// An optional operand.
    Given(usize),
    /// A list of all operands from this one on.
    Rest(usize),
    /// Index tensors from this operand on, each at the place that the attribute `dims` names.
    Indices(usize),
    Attr(&'static str),
    Bool(bool),
    Float(f64),
    Str(&'static str),
    /// Where tensors without operands are made.
    Device,
}

/// What the arguments of a call are written as: sources, and the first three operands.
pub mod sources {
    pub use super::Source::*;

    pub const X: super::Source = Operand(0);
    pub const Y: super::Source = Operand(1);
    pub const Z: super::Source = Operand(2);
}

/// A tensor that a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tensor {
    Operand(usize),
    /// Result `slot` of an earlier call for the same operator.
    Made {
        call: usize,
        slot: usize,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg<T> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Ints(Ints),
    DType(DType),
    /// Where the program's tensors lie.
    Device,
    /// Another device, as PyTorch names it.
    On(String),
    /// A memory format, by its code in the schema of exported programs.
    MemoryFormat(i64),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Tensor(T),
    /// A tensor that may as well be a number, if it is one.
    Either(T),
    Tensors(Vec<T>),
    OptionalTensors(Vec<Option<T>>),
}

impl<T> Arg<T> {
    /// The same argument with other tensors. What is told apart by [`Arg::Either`] goes through `either`.
    pub fn map<U, E>(
        self,
        tensor: &mut impl FnMut(T) -> Result<U, E>,
        either: impl FnOnce(T, &mut dyn FnMut(T) -> Result<U, E>) -> Result<Arg<U>, E>,
    ) -> Result<Arg<U>, E> {
        Ok(match self {
            Arg::None => Arg::None,
            Arg::Bool(v) => Arg::Bool(v),
            Arg::Int(v) => Arg::Int(v),
            Arg::Float(v) => Arg::Float(v),
            Arg::Str(v) => Arg::Str(v),
            Arg::Ints(v) => Arg::Ints(v),
            Arg::DType(v) => Arg::DType(v),
            Arg::Device => Arg::Device,
            Arg::On(v) => Arg::On(v),
            Arg::MemoryFormat(v) => Arg::MemoryFormat(v),
            Arg::Floats(v) => Arg::Floats(v),
            Arg::Bools(v) => Arg::Bools(v),
            Arg::Tensor(t) => Arg::Tensor(tensor(t)?),
            Arg::Either(t) => either(t, tensor)?,
            Arg::Tensors(all) => Arg::Tensors(all.into_iter().map(tensor).collect::<Result<_, _>>()?),
            Arg::OptionalTensors(all) => {
                let each = all.into_iter().map(|t| t.map(&mut *tensor).transpose());
                Arg::OptionalTensors(each.collect::<Result<_, _>>()?)
            }
        })
    }

    /// The tensors that the argument holds.
    pub fn tensors(&self) -> impl Iterator<Item = &T> {
        let (one, all, some): (_, &[T], &[Option<T>]) = match self {
            Arg::Tensor(t) | Arg::Either(t) => (Some(t), &[], &[]),
            Arg::Tensors(all) => (None, all, &[]),
            Arg::OptionalTensors(all) => (None, &[], all),
            _ => (None, &[], &[]),
        };
        one.into_iter().chain(all).chain(some.iter().flatten())
    }
}

/// The name of an argument.
pub type Name = Cow<'static, str>;

/// A call with its arguments.
#[derive(Clone, Debug)]
pub struct Made<T> {
    /// Namespace, name and overload: `aten.add.Tensor`.
    pub target: Name,
    pub positional: Vec<(Name, Arg<T>)>,
    pub keyword: Vec<(Name, Arg<T>)>,
    /// What the call gives; none where the IR has no such type.
    pub results: SmallVec<[Option<TensorType>; 1]>,
    pub list: bool,
}

/// The results of an operator among those of its calls, or why there is no call.
pub type Stated = Result<SmallVec<[Tensor; 1]>, String>;

/// The calls for one operator.
pub struct AllCalls {
    pub calls: Vec<Made<Tensor>>,
    /// The results of the operator among those of its calls.
    pub results: SmallVec<[Tensor; 1]>,
}

/// The calls for one operator while they are stated.
pub struct Calls<'a> {
    pub c: &'a Call<'a>,
    /// The operands that are numbers.
    numbers: &'a [Option<Number>],
    made: Vec<Made<Tensor>>,
}

impl<T> From<T> for Arg<T> {
    fn from(tensor: T) -> Self {
        Arg::Tensor(tensor)
    }
}

impl Calls<'_> {
    /// A call of one result. The first `positional` arguments are given by position, all others by name.
    pub fn one(
        &mut self,
        target: &'static str,
        positional: &[(&'static str, Arg<Tensor>)],
        keyword: &[(&'static str, Arg<Tensor>)],
        result: Option<TensorType>,
    ) -> Tensor {
        self.several(target, positional, keyword, [result])
    }

    /// As [`Calls::one`], of several results: gives the first.
    pub fn several(
        &mut self,
        target: &'static str,
        positional: &[(&'static str, Arg<Tensor>)],
        keyword: &[(&'static str, Arg<Tensor>)],
        results: impl IntoIterator<Item = Option<TensorType>>,
    ) -> Tensor {
        let results = results.into_iter().collect();
        let named =
            |all: &[(&'static str, Arg<Tensor>)]| all.iter().map(|(n, a)| (Name::from(*n), a.clone())).collect();
        let (positional, keyword) = (named(positional), named(keyword));
        self.made.push(Made { target: full(target), positional, keyword, results, list: false });
        Tensor::Made { call: self.made.len() - 1, slot: 0 }
    }

    /// The type of the operator's result.
    pub fn result(&self) -> Option<TensorType> {
        self.c.types().into_iter().next()
    }

    /// An operand of which the type is wanted.
    pub fn ty(&self, operand: usize) -> Result<&TensorType, String> {
        self.c.operands.get(operand).copied().ok_or_else(|| format!("lacks operand {operand}"))
    }

    /// The number that an operand is.
    pub fn number(&self, operand: usize) -> Option<Number> {
        self.numbers.get(operand).copied().flatten()
    }

    pub fn attr(&self, name: &str) -> Arg<Tensor> {
        attribute(self.c, name)
    }

    pub fn x(&self) -> Arg<Tensor> {
        Tensor::Operand(0).into()
    }
}

/// One result.
pub fn single(tensor: Tensor) -> Stated {
    Ok(SmallVec::from_elem(tensor, 1))
}

fn attribute<T>(call: &Call, name: &str) -> Arg<T> {
    match call.op.attr_index(name).and_then(|i| call.attrs.get(i)) {
        None | Some(AttrValue::None) => Arg::None,
        Some(AttrValue::Bool(v)) => Arg::Bool(*v),
        Some(AttrValue::Int(v)) => Arg::Int(*v),
        Some(AttrValue::Float(v)) => Arg::Float(v.0),
        Some(AttrValue::Str(v)) => Arg::Str(v.to_string()),
        Some(AttrValue::DType(v)) => Arg::DType(*v),
        Some(AttrValue::Ints(v)) => Arg::Ints(v.clone()),
    }
}

fn argument(call: &Call, source: Source) -> Result<Arg<Tensor>, String> {
    let operands = call.operands.len();
    let operand = |i: usize| if i < operands { Ok(Tensor::Operand(i)) } else { Err(format!("lacks operand {i}")) };
    Ok(match source {
        Source::Operand(i) => Arg::Tensor(operand(i)?),
        Source::Either(i) => Arg::Either(operand(i)?),
        Source::Given(i) => operand(i).map_or(Arg::None, Arg::Tensor),
        Source::Rest(from) => Arg::Tensors((from..operands).map(Tensor::Operand).collect()),
        Source::Indices(from) => {
            let dims = call.ints("dims");
            let rank = dims.iter().max().map_or(0, |&d| usize::try_from(d).unwrap_or(0) + 1);
            let at = |d: usize| dims.iter().position(|&dim| usize::try_from(dim) == Ok(d));
            Arg::OptionalTensors((0..rank).map(|d| at(d).map(|i| Tensor::Operand(from + i))).collect())
        }
        Source::Attr(name) => attribute(call, name),
        Source::Bool(v) => Arg::Bool(v),
        Source::Float(v) => Arg::Float(v),
        Source::Str(v) => Arg::Str(v.to_owned()),
        Source::Device => Arg::Device,
    })
}

impl Form {
    fn call(&self, call: &Call, results: Types) -> Result<Made<Tensor>, String> {
        let arguments = |all: &[(&'static str, Source)]| {
            all.iter()
                .map(|&(name, source)| Ok((name.into(), argument(call, source)?)))
                .collect::<Result<Vec<_>, String>>()
        };
        let mut keyword = arguments(self.keyword)?;
        // A factor of 1 is what PyTorch takes anyway.
        keyword.retain(|(name, arg): &(Name, _)| !(matches!(&**name, "beta" | "alpha" | "value") && is_one(arg)));
        let results = results.into_iter().map(Some).collect();
        Ok(Made {
            target: full(self.target),
            positional: arguments(self.positional)?,
            keyword,
            results,
            list: self.list,
        })
    }
}

/// The name with namespace and overload.
fn full(target: &str) -> Name {
    let overload = if target.contains('.') { "" } else { ".default" };
    format!("aten.{target}{overload}").into()
}

fn is_one<T>(arg: &Arg<T>) -> bool {
    match arg {
        Arg::Int(v) => *v == 1,
        Arg::Float(v) => *v == 1.0,
        _ => false,
    }
}

impl Aten {
    /// The calls for `call`. `numbers` says which operands are numbers.
    ///
    /// # Errors
    /// Why there are no such calls.
    pub fn calls(&self, call: &Call, numbers: &[Option<Number>]) -> Result<AllCalls, String> {
        match self {
            Aten::Never(reason) => Err((*reason).to_owned()),
            Aten::One(form) => {
                let made = form.call(call, call.types())?;
                let results = (0..made.results.len()).map(|slot| Tensor::Made { call: 0, slot }).collect();
                Ok(AllCalls { calls: vec![made], results })
            }
            Aten::Some(state) => {
                let mut calls = Calls { c: call, numbers, made: Vec::new() };
                let results = state(&mut calls)?;
                Ok(AllCalls { calls: calls.made, results })
            }
        }
    }
}

/// How PyTorch computes an operator: `aten!("sum.dim_IntList", self: X, dim, keepdim)`. Arguments behind a semicolon are given by
/// name. One without a source is the attribute of that name. `list` says that the results are one list; a closure states several
/// calls.
macro_rules! aten {
    (|$c:ident| $calls:expr) => {
        crate::ops::aten::Aten::Some(|$c| $calls)
    };
    (list $($form:tt)*) => {
        aten!(@form true $($form)*)
    };
    ($target:literal $($form:tt)*) => {
        aten!(@form false $target $($form)*)
    };
    (@form $list:literal $target:literal $(, $name:ident $(: $source:expr)?)* $(; $($key:ident $(: $from:expr)?),+)?) => {
        crate::ops::aten::Aten::One(&crate::ops::aten::Form {
            target: $target,
            positional: &[$((stringify!($name), aten!(@source $name $(, $source)?))),*],
            keyword: &[$($((stringify!($key), aten!(@source $key $(, $from)?))),+)?],
            list: $list,
        })
    };
    (@source $name:ident) => {
        crate::ops::aten::Source::Attr(stringify!($name))
    };
    (@source $name:ident, $source:expr) => {{
        use crate::ops::aten::sources::*;
        $source
    }};
}

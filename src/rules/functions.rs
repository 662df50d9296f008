//! The functions of the attribute language.

use super::evaluated::position;
use super::function::{Function, TensorFunction};
use super::tensor_functions::{TENSOR_FUNCTIONS, TERM_FUNCTIONS};
use crate::ir::{AttrValue, Ints, Number, Shape};
use crate::ops::shapes;

fn ints(values: impl IntoIterator<Item = i64>) -> Option<AttrValue> {
    Some(AttrValue::Ints(values.into_iter().collect()))
}

fn list(value: &AttrValue) -> Option<Ints> {
    Some(Ints::from_slice(value.as_ints()?))
}

fn bool(value: bool) -> Option<AttrValue> {
    Some(AttrValue::Bool(value))
}

/// Integers stay integers, anything else is compared as floats.
fn pick(a: &AttrValue, b: &AttrValue, smaller: bool) -> Option<AttrValue> {
    let a_first = a.as_number()?.compare(b.as_number()?)?.is_le();
    Some(if a_first == smaller { a.clone() } else { b.clone() })
}

/// How far a constant that a program writes may lie from the one that a rule means, relatively: below
/// single precision's rounding of the constants that people type in decimal.
pub(super) const NEAR: f64 = 1e-6;

/// Whether two numbers are equal up to how many decimals somebody typed.
pub(super) fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= NEAR * a.abs().max(b.abs())
}

/// Dims of a list, each counted from the start of `rank` dimensions, sorted.
fn dims(value: &AttrValue, rank: usize) -> Option<Vec<usize>> {
    let mut dims: Vec<usize> = value.as_ints()?.iter().map(|&d| position(d, rank)).collect::<Option<_>>()?;
    dims.sort_unstable();
    dims.dedup();
    Some(dims)
}

/// Whether a permutation only moves dimensions of size 1, so that elements stay in row-major order.
fn keeps_order(permutation: &[i64], shape: &[i64]) -> Option<bool> {
    let mut last = -1;
    for &d in permutation {
        if *shape.get(usize::try_from(d).ok()?)? != 1 {
            if d < last {
                return Some(false);
            }
            last = d;
        }
    }
    Some(permutation.len() == shape.len())
}

fn reduced(a: &[AttrValue]) -> Option<AttrValue> {
    let shape = list(&a[0])?;
    let (dims, keep) = (dims(&a[1], shape.len())?, a[2].as_bool()?);
    let sizes = shape.iter().enumerate().filter_map(|(i, &s)| match (dims.contains(&i), keep) {
        (false, _) => Some(s),
        (true, true) => Some(1),
        (true, false) => None,
    });
    ints(sizes)
}

/// Functions of values.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "compose",
        arguments: &["p", "q"],
        doc: "The permutation that does first `p`, then `q`.",
        run: |a| shapes::compose_permutations(a[0].as_ints()?, a[1].as_ints()?).map(AttrValue::Ints),
    },
    Function {
        name: "inverse",
        arguments: &["p"],
        doc: "The permutation that undoes `p`.",
        run: |a| shapes::inverse_permutation(a[0].as_ints()?).map(AttrValue::Ints),
    },
    Function {
        name: "swap",
        arguments: &["n", "i", "j"],
        doc: "The permutation of `n` dims that swaps dims `i` and `j`.",
        run: |a| {
            let n = usize::try_from(a[0].as_int()?).ok().filter(|&n| n <= crate::ir::MAX_RANK)?;
            let mut p: Ints = (0..n as i64).collect();
            p.swap(position(a[1].as_int()?, n)?, position(a[2].as_int()?, n)?);
            Some(AttrValue::Ints(p))
        },
    },
    Function {
        name: "is_identity",
        arguments: &["p"],
        doc: "Whether the permutation `p` moves nothing.",
        run: |a| bool(a[0].as_ints()?.iter().enumerate().all(|(i, &d)| d == i as i64)),
    },
    Function {
        name: "iota",
        arguments: &["n"],
        doc: "The list 0, 1, … of `n` numbers: all dims of a tensor of rank `n`.",
        run: |a| ints(0..a[0].as_int().filter(|&n| (0..=crate::ir::MAX_RANK as i64).contains(&n))?),
    },
    Function {
        name: "ones",
        arguments: &["n"],
        doc: "A list of `n` ones.",
        run: |a| {
            let n = usize::try_from(a[0].as_int()?).ok().filter(|&n| n <= crate::ir::MAX_RANK)?;
            ints(std::iter::repeat_n(1, n))
        },
    },
    Function {
        name: "sorted",
        arguments: &["l"],
        doc: "The list `l` in ascending order.",
        run: |a| {
            let mut l = list(&a[0])?;
            l.sort_unstable();
            Some(AttrValue::Ints(l))
        },
    },
    Function {
        name: "keeps_order",
        arguments: &["p", "shape"],
        doc: "Whether the permutation `p` only moves dims of size 1 of `shape`.",
        run: |a| bool(keeps_order(a[0].as_ints()?, a[1].as_ints()?)?),
    },
    Function {
        name: "normalize",
        arguments: &["d", "n"],
        doc: "Dim `d` counted from the start of `n` dims.",
        run: |a| Some(AttrValue::Int(position(a[0].as_int()?, usize::try_from(a[1].as_int()?).ok()?)? as i64)),
    },
    Function {
        name: "broadcast",
        arguments: &["s", "t"],
        doc: "The shape that the shapes `s` and `t` broadcast to.",
        run: |a| {
            let (x, y): (Shape, Shape) = (a[0].as_shape()?, a[1].as_shape()?);
            shapes::broadcast(&x, &y).map(|s| AttrValue::shape(&s))
        },
    },
    Function {
        name: "reduced",
        arguments: &["shape", "dims", "keepdim"],
        doc: "`shape` after reducing `dims`, which stay as 1 if `keepdim`.",
        run: reduced,
    },
    Function {
        name: "insert",
        arguments: &["l", "i", "v"],
        doc: "The list `l` with `v` inserted before position `i`.",
        run: |a| {
            let mut l = list(&a[0])?;
            let at = position(a[1].as_int()?, l.len() + 1)?;
            l.insert(at, a[2].as_int()?);
            Some(AttrValue::Ints(l))
        },
    },
    Function {
        name: "remove",
        arguments: &["l", "i"],
        doc: "The list `l` without position `i`.",
        run: |a| {
            let mut l = list(&a[0])?;
            l.remove(position(a[1].as_int()?, l.len())?);
            Some(AttrValue::Ints(l))
        },
    },
    Function {
        name: "set",
        arguments: &["l", "i", "v"],
        doc: "The list `l` with `v` at position `i`.",
        run: |a| {
            let mut l = list(&a[0])?;
            let at = position(a[1].as_int()?, l.len())?;
            l[at] = a[2].as_int()?;
            Some(AttrValue::Ints(l))
        },
    },
    Function {
        name: "select",
        arguments: &["l", "dims"],
        doc: "The entries of the list `l` at `dims`, in their order.",
        run: |a| {
            let l = list(&a[0])?;
            let at = |&d: &i64| position(d, l.len()).map(|d| l[d]);
            a[1].as_ints()?.iter().map(at).collect::<Option<Ints>>().map(AttrValue::Ints)
        },
    },
    Function {
        name: "contains",
        arguments: &["l", "v"],
        doc: "Whether `v` is in the list `l`.",
        run: |a| bool(a[0].as_ints()?.contains(&a[1].as_int()?)),
    },
    Function {
        name: "product",
        arguments: &["l"],
        doc: "The product of the list `l`.",
        run: |a| a[0].as_ints()?.iter().try_fold(1_i64, |p, &v| p.checked_mul(v)).map(AttrValue::Int),
    },
    Function {
        name: "len",
        arguments: &["l"],
        doc: "The number of entries of the list `l`.",
        run: |a| Some(AttrValue::Int(a[0].as_ints()?.len() as i64)),
    },
    Function { name: "min", arguments: &["a", "b"], doc: "The smaller number.", run: |a| pick(&a[0], &a[1], true) },
    Function { name: "max", arguments: &["a", "b"], doc: "The larger number.", run: |a| pick(&a[0], &a[1], false) },
    Function {
        name: "divides",
        arguments: &["a", "b"],
        doc: "Whether `a` divides `b`.",
        run: |a| match (a[0].as_int()?, a[1].as_int()?) {
            (0, b) => bool(b == 0),
            (a, b) => bool(b.checked_rem(a)? == 0),
        },
    },
    Function {
        name: "floor_div",
        arguments: &["a", "b"],
        doc: "The quotient of two integers, rounded down.",
        run: |a| {
            let (a, b) = (a[0].as_int()?, a[1].as_int().filter(|&b| b > 0)?);
            Some(AttrValue::Int(a.checked_div_euclid(b)?))
        },
    },
    Function {
        name: "power_of_two",
        arguments: &["a"],
        doc: "2 to the power of an integer that is not below 0.",
        run: |a| Some(AttrValue::Int(1_i64.checked_shl(u32::try_from(a[0].as_int()?).ok()?).filter(|&n| n > 0)?)),
    },
    Function {
        name: "sqrt",
        arguments: &["a"],
        doc: "Square root.",
        run: |a| Some(AttrValue::float(a[0].as_float()?.sqrt())),
    },
    Function {
        name: "is_whole",
        arguments: &["a"],
        doc: "Whether a number is an integer.",
        run: |a| bool(a[0].as_float()?.fract() == 0.0),
    },
    Function {
        name: "holds",
        arguments: &["t", "a"],
        doc: "Whether the element type `t` holds the number `a` as it is, so that it is not rounded.",
        run: |a| {
            let (dtype, number) = (a[0].as_dtype()?, a[1].as_float()?);
            bool(dtype.store(Number::float(number)).is_some_and(|stored| stored.to_f64() == number))
        },
    },
    Function {
        name: "near",
        arguments: &["a", "b"],
        doc: "Whether two numbers agree within a relative 1e-6, as when people type decimals.",
        run: |a| bool(near(a[0].as_float()?, a[1].as_float()?)),
    },
    Function {
        name: "is_float",
        arguments: &["t"],
        doc: "Whether the element type is floating-point.",
        run: |a| bool(a[0].as_dtype()?.is_float()),
    },
    Function {
        name: "is_int",
        arguments: &["t"],
        doc: "Whether the element type is an integer type.",
        run: |a| bool(a[0].as_dtype()?.is_int()),
    },
    Function {
        name: "widens",
        arguments: &["t", "u"],
        doc: "Whether every value of element type `t` is one of `u`.",
        run: |a| bool(a[0].as_dtype()?.widens_to(a[1].as_dtype()?)),
    },
    Function {
        name: "epsilon",
        arguments: &["t"],
        doc: "Distance from 1 to the next value of a float type.",
        run: |a| a[0].as_dtype()?.epsilon().map(AttrValue::float),
    },
    Function {
        name: "max_finite",
        arguments: &["t"],
        doc: "Largest finite value of a float type.",
        run: |a| a[0].as_dtype()?.max_finite().map(AttrValue::float),
    },
];

/// The function of that name.
pub(super) fn function(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|f| f.name == name).copied()
}

/// The tensor function of that name.
pub(super) fn tensor_function(name: &str) -> Option<TensorFunction> {
    TENSOR_FUNCTIONS.iter().chain(TERM_FUNCTIONS).find(|f| f.name == name).copied()
}

/// A function as the reference shows it.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// As rules write it.
    pub name: &'static str,
    /// Whether its first argument is a tensor.
    pub of_tensor: bool,
    /// Names of the arguments, the tensor left out.
    pub arguments: &'static [&'static str],
    /// One sentence.
    pub doc: &'static str,
}

/// What the reference says of every function, in the order of the tables.
pub fn describe() -> Vec<FunctionInfo> {
    let values =
        FUNCTIONS.iter().map(|f| FunctionInfo { name: f.name, of_tensor: false, arguments: f.arguments, doc: f.doc });
    let tensors = TENSOR_FUNCTIONS.iter().chain(TERM_FUNCTIONS);
    let tensors = tensors.map(|f| FunctionInfo { name: f.name, of_tensor: true, arguments: f.arguments, doc: f.doc });
    tensors.chain(values).collect()
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let tensors = TENSOR_FUNCTIONS.iter().chain(TERM_FUNCTIONS);
    FUNCTIONS.iter().map(|f| f.name).chain(tensors.map(|f| f.name))
}

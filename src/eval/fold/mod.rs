//! Folding of input-independent operators into compact [`Constant`]s.
//!
//! Position ids and masks of real models have millions of elements and yet are simple formulas over their index.
//! Each rule here keeps the formula; what has none is computed element by element if it is small.

mod canonical;
mod condition;
mod formula;

pub use canonical::canonical;
use condition::{compare, conjunction, negation};
use formula::{affine, combine, exact, integer, multiple, range, scale};
use smallvec::SmallVec;

use super::constant::{Affine, Constant};
use crate::ir::{DType, Number, Shape, TensorType, flat_index, unflatten};
use crate::ops::shapes::inverse_permutation;
use crate::ops::ties::{self, Ties};
use crate::ops::{Call, EvalError, is_number};

/// The most elements of a constant that is kept element by element.
pub const DENSE_LIMIT: usize = 1 << 14;

/// The value of an operator over constants.
pub struct Folded {
    pub value: Constant,
    /// Whether it is what PyTorch computes, bit for bit. Otherwise it is near.
    pub exact: bool,
}

/// The value of output `slot`, whose type is `ty`, if all operands are constants and the result has a compact form.
pub fn fold(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Folded> {
    // Formulas are arithmetic on integers that their type holds.
    let formula = by_formula(call, slot, operands, ty).map(|value| (value, true));
    let (value, exact) = formula
        .or_else(|| Some((uniform(call, slot, operands, ty)?, call.op.kernel.is_exact(call, ty))))
        .or_else(|| Some((by_element(call, slot, operands, ty)?, call.op.kernel.is_exact(call, ty))))?;
    Some(Folded { value: canonical(value, ty), exact })
}

fn by_formula(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    use Constant::{Affine as A, Polyhedron as P, Uniform as U};
    let name = call.op.name;
    let x_type = call.operands.first();
    match (name, operands) {
        ("arange", _) => arange(call, ty),
        ("add" | "sub", [x, y]) => {
            let (x, y) = (affine(x, x_type?, ty)?, affine(y, call.operands[1], ty)?);
            combine(&x, &y, if name == "add" { 1 } else { -1 }).and_then(|a| exact(a, ty))
        }
        ("mul", [x, y]) => {
            let (a, factor) = match (x.uniform(), y.uniform()) {
                (_, Some(f)) => (affine(x, x_type?, ty)?, f),
                (Some(f), _) => (affine(y, call.operands[1], ty)?, f),
                _ => return None,
            };
            multiple(&a, integer(factor)?, ty)
        }
        ("neg", [A(a)]) => multiple(a, -1, ty),
        ("cast", [A(a)]) => exact(a.clone(), ty),
        ("cast", [P(p)]) if ty.dtype == DType::Bool => Some(P(p.clone())),
        ("le" | "lt" | "ge" | "gt" | "eq" | "ne", [x, y]) => {
            compare(name, &affine(x, x_type?, ty)?, &affine(y, call.operands[1], ty)?, ty)
        }
        ("logical_and", [x, y]) => conjunction(x, y, call, ty),
        ("logical_not", [P(p)]) => match p.as_slice() {
            [a] => Some(P(vec![negation(a)?])),
            _ => None,
        },
        // Limits that no element reaches.
        ("clamp", [A(a)]) => {
            let (low, high) = range(a, &ty.shape)?;
            let inside = |name: &str, end: i64, wrong: std::cmp::Ordering| {
                let bound = call.given(name).then(|| call.number(name, ty.dtype));
                bound.is_none_or(|bound| bound.is_some_and(|b| Number::Int(end).compare(b) != Some(wrong)))
            };
            let within =
                inside("min", low, std::cmp::Ordering::Less) && inside("max", high, std::cmp::Ordering::Greater);
            within.then(|| A(a.clone()))
        }
        ("where", [U(condition), x, y]) => {
            let taken = if condition.is_true() { 1 } else { 2 };
            exact(affine(if taken == 1 { x } else { y }, call.operands[taken], ty)?, ty)
        }
        ("expand", [x]) => {
            let from = &x_type?.shape;
            let skip = ty.rank() - from.len();
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: (0..ty.rank())
                    .map(|d| d.checked_sub(skip).map_or(0, |s| if from[s] == 1 { 0 } else { a.coefficients[s] }))
                    .collect(),
            })
        }
        ("permute", [x]) => {
            let dims = call.ints("dims");
            inverse_permutation(dims)?;
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: dims.iter().map(|&d| a.coefficients[d as usize]).collect(),
            })
        }
        ("slice", [x]) => {
            let (dim, start, step) = (call.size("dim"), call.int("start"), call.int("step"));
            map_formula(x, |a| {
                let mut out = a.clone();
                out.offset += a.coefficients[dim] * start;
                out.coefficients[dim] *= step;
                out
            })
        }
        ("split", [x]) => {
            let (dim, before) = (call.size("dim"), call.ints("sizes")[..slot].iter().sum::<i64>());
            map_formula(x, |a| {
                let mut out = a.clone();
                out.offset += a.coefficients[dim] * before;
                out
            })
        }
        ("unsqueeze" | "squeeze" | "reshape", [x]) => {
            let kept = size_one_reshape(&x_type?.shape, &ty.shape)?;
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: kept.iter().map(|k| k.map_or(0, |d| a.coefficients[d])).collect(),
            })
        }
        ("alias" | "contiguous" | "clone", [x]) => Some((*x).clone()),
        ("concat", _) => concat(call, operands, ty),
        ("cumsum", [U(v)]) => {
            let step = integer(*v)?;
            let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, ty.rank());
            *coefficients.get_mut(call.size("dim"))? = step;
            exact(Affine { offset: step, coefficients }, ty)
        }
        ("diff", _) => diff(call, operands, ty),
        ("index", [x, indices @ ..]) => index(call, x, indices, ty),
        ("tril" | "triu", [U(v)]) if ty.dtype == DType::Bool && v.is_true() && ty.rank() >= 2 => {
            // tril keeps column - row <= diagonal, triu keeps row - column <= -diagonal.
            let sign = if name == "tril" { 1 } else { -1 };
            let mut a = Affine { offset: 0, coefficients: SmallVec::from_elem(0, ty.rank()) };
            a.offset = call.int("diagonal").checked_mul(-sign)?;
            a.coefficients[ty.rank() - 1] = sign;
            a.coefficients[ty.rank() - 2] = -sign;
            Some(P(vec![a]))
        }
        _ => None,
    }
}

/// Whether each output element is a function of the operands' elements alone, wherever they stand.
fn is_pointwise(call: &Call) -> bool {
    use crate::ops::Family;
    let moves_only = matches!(
        call.op.name,
        "reshape"
            | "permute"
            | "expand"
            | "slice"
            | "split"
            | "unsqueeze"
            | "squeeze"
            | "alias"
            | "contiguous"
            | "clone"
            | "repeat_heads"
    );
    call.op.family == Family::Elementwise || moves_only
}

/// A function of single elements, applied to uniform operands, is uniform; so is what a `full` makes.
fn uniform(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let alike = is_pointwise(call) && operands.iter().all(|c| c.uniform().is_some());
    if !alike && !matches!(call.op.name, "full" | "number") {
        return None;
    }
    let mut fetch = |i: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(operands[i].at(call.operands[i], at)) };
    let at: Shape = SmallVec::from_elem(0, ty.rank());
    let value = call.op.kernel.compute(call, slot, &at, &mut fetch).ok()?[0];
    Some(Constant::Uniform(stored(call, value, ty)?))
}

/// What a tensor of type `ty` gives back for the result of an operator. A number beside a tensor stays as it is written;
/// whoever computes with it rounds it.
pub fn stored(call: &Call, value: Number, ty: &TensorType) -> Option<Number> {
    if is_number(call.op) { Some(value) } else { ty.dtype.store(value) }
}

/// The general way: compute every element, if there are few.
fn by_element(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let numel = ty.numel();
    // Reductions over huge constants are not worth it.
    if numel > DENSE_LIMIT || call.operands.iter().any(|t| t.numel() > DENSE_LIMIT) {
        return None;
    }
    let mut fetch = |i: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(operands[i].at(call.operands[i], at)) };
    let axes = call.op.kernel.axes(call).unwrap_or_default();
    let lane_shape: Shape = axes.iter().map(|&d| ty.shape.get(d).copied()).collect::<Option<_>>()?;
    let mut data = vec![Number::ZERO; numel];
    for flat in 0..numel {
        let mut index = unflatten(&ty.shape, flat);
        if axes.iter().any(|&d| index[d] != 0) {
            continue;
        }
        let values = ties::compute(&call.op.kernel, call, slot, &index, &mut fetch, Ties::Refused).ok()?;
        for (i, value) in values.into_iter().enumerate() {
            for (&d, &at) in axes.iter().zip(&unflatten(&lane_shape, i)) {
                index[d] = at;
            }
            // The element type's rounding is part of a constant's value.
            *data.get_mut(flat_index(&ty.shape, &index))? = stored(call, value, ty)?;
        }
    }
    Some(Constant::Dense(data.into()))
}

fn arange(call: &Call, ty: &TensorType) -> Option<Constant> {
    let number = |name| integer(call.number(name, ty.dtype.accumulator())?);
    let (start, step) = (number("start")?, number("step")?);
    exact(Affine { offset: start, coefficients: SmallVec::from_elem(step, 1) }, ty)
}

fn map_formula(constant: &Constant, f: impl Fn(&Affine) -> Affine) -> Option<Constant> {
    match constant {
        Constant::Affine(a) => Some(Constant::Affine(f(a))),
        Constant::Polyhedron(all) => Some(Constant::Polyhedron(all.iter().map(f).collect())),
        _ => None,
    }
}

/// For a reshape that only adds and drops dimensions of size 1: which source dimension each target dimension is.
fn size_one_reshape(from: &[usize], to: &[usize]) -> Option<SmallVec<[Option<usize>; 4]>> {
    let mut source = (0..from.len()).filter(|&d| from[d] != 1);
    let kept = to
        .iter()
        .map(|&size| if size == 1 { Some(None) } else { source.next().filter(|&d| from[d] == size).map(Some) })
        .collect::<Option<_>>()?;
    source.next().is_none().then_some(kept)
}

/// Pieces that continue one formula along `dim`. A piece of size 1 there fits any slope.
fn concat(call: &Call, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let dim = call.size("dim");
    let pieces: Vec<(Affine, &TensorType)> =
        operands.iter().zip(call.operands).map(|(c, &t)| Some((affine(c, t, t)?, t))).collect::<Option<_>>()?;
    let (widest, widest_type) = pieces.iter().max_by_key(|(_, t)| t.shape[dim])?;
    let mut slope = widest.coefficients[dim];
    if widest_type.shape[dim] == 1 && pieces.len() > 1 {
        slope = pieces[1].0.offset - pieces[0].0.offset;
    }
    let mut whole = pieces[0].0.clone();
    whole.coefficients[dim] = slope;
    let mut start = 0_i64;
    for (piece, t) in &pieces {
        let mut expected = whole.clone();
        expected.offset = whole.offset.checked_add(slope.checked_mul(start)?)?;
        let mut found = piece.clone();
        if t.shape[dim] == 1 {
            found.coefficients[dim] = slope;
        }
        if found != expected {
            return None;
        }
        start += t.shape[dim] as i64;
    }
    exact(whole, ty)
}

/// First differences of a formula are its slope; a prepended element must continue it.
fn diff(call: &Call, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let dim = call.size("dim");
    if call.int("n") != 1 || operands.len() > 2 || ty.dtype == DType::Bool {
        return None;
    }
    let x = affine(operands[0], call.operands[0], call.operands[0])?;
    let slope = *x.coefficients.get(dim)?;
    if let Some(prepend) = operands.get(1) {
        let t = call.operands[1];
        let p = affine(prepend, t, t)?;
        // The last prepended element comes one step before the first element of x.
        let same_elsewhere = (0..ty.rank()).all(|d| d == dim || p.coefficients[d] == x.coefficients[d]);
        if t.shape[dim] != 1 || !same_elsewhere || p.offset != x.offset - slope {
            return None;
        }
    }
    Some(Constant::Uniform(ty.dtype.store(Number::Int(slope))?))
}

/// Advanced indexing of a formula by formulas is composition, where every dimension is indexed.
fn index(call: &Call, x: &Constant, indices: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let x_type = call.operands[0];
    let dims = call.ints("dims");
    if dims.len() != x_type.rank() || dims.iter().enumerate().any(|(i, &d)| i as i64 != d) {
        return None;
    }
    if let Constant::Uniform(v) = x {
        return Some(Constant::Uniform(*v));
    }
    let formulas: Vec<Affine> =
        indices.iter().zip(&call.operands[1..]).map(|(c, t)| affine(c, t, ty)).collect::<Option<_>>()?;
    for (a, &size) in formulas.iter().zip(&x_type.shape) {
        let (low, high) = range(a, &ty.shape)?;
        if low < 0 || high >= size as i64 {
            return None;
        }
    }
    let compose = |a: &Affine| -> Option<Affine> {
        let start = Affine { offset: a.offset, coefficients: SmallVec::from_elem(0, ty.rank()) };
        a.coefficients.iter().zip(&formulas).try_fold(start, |sum, (&c, f)| combine(&sum, &scale(f, c)?, 1))
    };
    match x {
        Constant::Affine(a) => Some(Constant::Affine(compose(a)?)),
        Constant::Polyhedron(all) => all.iter().map(compose).collect::<Option<_>>().map(Constant::Polyhedron),
        _ => None,
    }
}

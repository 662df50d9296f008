//! Products of matrices and tensors.

use super::super::lowering::{NodeLowering, dimension, distinct};
use crate::frontend::builder::{Converted, Refusal};
use crate::ir::{AttrValue, Shape, TensorType, Value};

/// Which dimensions of both operands go together.
struct Dims {
    batch: [Vec<usize>; 2],
    contracted: [Vec<usize>; 2],
}

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    match name {
        "dot_general" => {
            let [x, y] = site.all()?;
            let dims = dims(site, [x, y])?;
            product(site, [x, y], &dims)
        }
        "dot" => {
            let [x, y] = site.all()?;
            if site.rank(x) == 0 || site.rank(y) == 0 {
                return Err(Refusal::new("takes no scalars"));
            }
            let dims = Dims { batch: [vec![], vec![]], contracted: [vec![site.rank(x) - 1], vec![0]] };
            product(site, [x, y], &dims)
        }
        _ => Ok(None),
    }
}

/// The dimensions as `batching_dims = [0] x [0], contracting_dims = [2] x [1]`, or as `#stablehlo.dot<…>`.
fn dims(site: &NodeLowering, operands: [Value; 2]) -> Result<Dims, Refusal> {
    let rank = |side: usize| site.rank(operands[side]);
    let checked = |side: usize, list: Vec<i64>| -> Result<Vec<usize>, Refusal> {
        list.into_iter().map(|d| dimension(d, rank(side))).collect()
    };
    let pair = |key: &str| -> Result<[Vec<usize>; 2], Refusal> {
        let Some(attribute) = site.form.attribute(&[key]) else { return Ok([vec![], vec![]]) };
        let lists: Option<Vec<Vec<i64>>> =
            attribute.lists().into_iter().map(|l| l.into_iter().map(|w| w.parse().ok()).collect()).collect();
        match lists.and_then(|lists| <[Vec<i64>; 2]>::try_from(lists).ok()) {
            Some([x, y]) => Ok([checked(0, x)?, checked(1, y)?]),
            None => Err(Refusal::new(format!("takes two lists as `{key}`"))),
        }
    };
    let dims = match site.form.attribute(&["dot_dimension_numbers"]) {
        None => Dims { batch: pair("batching_dims")?, contracted: pair("contracting_dims")? },
        Some(numbers) => {
            let wrong = || Refusal::new("has dimension numbers that make no sense");
            let fields = numbers.fields().ok_or_else(wrong)?;
            let list = |side: usize, key: &str| checked(side, fields.ints(key).ok_or_else(wrong)?);
            Dims {
                batch: [list(0, "lhs_batching_dimensions")?, list(1, "rhs_batching_dimensions")?],
                contracted: [list(0, "lhs_contracting_dimensions")?, list(1, "rhs_contracting_dimensions")?],
            }
        }
    };
    for side in [0, 1] {
        let all: Vec<usize> = dims.batch[side].iter().chain(&dims.contracted[side]).copied().collect();
        let paired = dims.batch[0].len() == dims.batch[1].len() && dims.contracted[0].len() == dims.contracted[1].len();
        if !paired || !distinct(&all, rank(side)) {
            return Err(Refusal::new("pairs dimensions in a way that makes no sense"));
        }
    }
    Ok(dims)
}

/// One matrix product over batches, with views before and after it.
fn product(site: &mut NodeLowering, operands: [Value; 2], dims: &Dims) -> Converted {
    let result = site.result()?.clone();
    let mut matrices = operands;
    let mut free: [Vec<usize>; 2] = Default::default();
    for side in [0, 1] {
        let used = |d: &usize| dims.batch[side].contains(d) || dims.contracted[side].contains(d);
        free[side] = (0..site.rank(operands[side])).filter(|d| !used(d)).collect();
        // A product in a wider type than its operands' is exact in that type.
        matrices[side] = site.cast(operands[side], result.dtype)?;
    }
    let sizes = |site: &NodeLowering, side: usize, dims: &[usize]| -> Shape {
        let shape = site.shape(operands[side]);
        dims.iter().map(|&d| shape[d]).collect()
    };
    let (batch, inner) = (sizes(site, 0, &dims.batch[0]), sizes(site, 0, &dims.contracted[0]));
    if batch != sizes(site, 1, &dims.batch[1]) || inner != sizes(site, 1, &dims.contracted[1]) {
        return Err(Refusal::new("pairs dimensions of different sizes"));
    }
    // Where both operands would have to be transposed, the transposed product is taken of the two in the other order.
    let ends_with = |side: usize, last: &[usize], before: &[usize]| {
        last.iter().min().zip(before.iter().max()).is_some_and(|(l, b)| l > b) && !dims.contracted[side].is_empty()
    };
    let (first, second) = (&dims.contracted[0], &dims.contracted[1]);
    if ends_with(0, &free[0], first) && ends_with(1, second, &free[1]) {
        return swapped(site, matrices, dims, &free, &result);
    }
    let (rows, columns) = (sizes(site, 0, &free[0]), sizes(site, 1, &free[1]));
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    // Rows may have any number of dimensions where the other side is one matrix.
    let plain = batch.is_empty() && !rows.is_empty();
    let order = |first: &[usize], second: &[usize], third: &[usize]| [first, second, third].concat();
    let x_order = order(&dims.batch[0], &free[0], &dims.contracted[0]);
    let x = site.permute(matrices[0], &x_order)?;
    let x_rows: Shape = if plain { rows.clone() } else { Shape::from_slice(&[count(&rows)]) };
    let x_shape: Shape = batch.iter().chain(&x_rows).copied().chain([count(&inner)]).collect();
    let x = site.reshape(x, &x_shape)?;
    let y_order = order(&dims.batch[1], &dims.contracted[1], &free[1]);
    let y = site.permute(matrices[1], &y_order)?;
    let y_shape: Shape = batch.iter().copied().chain([count(&inner), count(&columns)]).collect();
    let y = site.reshape(y, &y_shape)?;
    let whole: Shape = batch.iter().chain(&x_rows).copied().chain([count(&columns)]).collect();
    let stated: Shape = batch.iter().chain(&rows).chain(&columns).copied().collect();
    if stated != result.shape {
        return Err(Refusal::new(format!("gives a tensor of shape {stated:?}, and the module states {result}")));
    }
    let Some(values) = site.emit("matmul", &[], &[x, y])? else { return Ok(None) };
    match values.first() {
        Some(&value) if whole != result.shape => {
            let shaped = site.part("reshape", &[("shape", AttrValue::shape(&result.shape))], &[value])?;
            site.gives(shaped)
        }
        _ => Ok(Some(values)),
    }
}

/// The product of both operands in the other order, whose rows are the columns of the result.
fn swapped(
    site: &mut NodeLowering,
    [x, y]: [Value; 2],
    dims: &Dims,
    free: &[Vec<usize>; 2],
    result: &TensorType,
) -> Converted {
    let sizes = |site: &NodeLowering, value: Value, dims: &[usize]| -> Shape {
        let shape = site.shape(value);
        dims.iter().map(|&d| shape[d]).collect()
    };
    let (batch, inner) = (sizes(site, x, &dims.batch[0]), sizes(site, x, &dims.contracted[0]));
    let (rows, columns) = (sizes(site, x, &free[0]), sizes(site, y, &free[1]));
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    let first = site.permute(y, &[&dims.batch[1][..], &free[1], &dims.contracted[1]].concat())?;
    let shape: Shape = batch.iter().copied().chain([count(&columns), count(&inner)]).collect();
    let first = site.reshape(first, &shape)?;
    let second = site.permute(x, &[&dims.batch[0][..], &dims.contracted[0], &free[0]].concat())?;
    let shape: Shape = batch.iter().copied().chain([count(&inner), count(&rows)]).collect();
    let second = site.reshape(second, &shape)?;
    let Some(product) = site.emit("matmul", &[], &[first, second])?.and_then(|all| all.first().copied()) else {
        return Ok(None);
    };
    let apart: Shape = batch.iter().chain(&columns).chain(&rows).copied().collect();
    let product = site.reshape(product, &apart)?;
    let (batches, columns) = (batch.len(), columns.len());
    let order: Vec<usize> =
        (0..batches).chain(batches + columns..apart.len()).chain(batches..batches + columns).collect();
    let value = site.permute(product, &order)?;
    if site.shape(value) != result.shape {
        let found = site.shape(value);
        return Err(Refusal::new(format!("gives a tensor of shape {found:?}, and the module states {result}")));
    }
    site.gives(value)
}

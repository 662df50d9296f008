//! Products of matrices and tensors.

use super::super::lowering::{NodeLowering, dimension, distinct};
use super::super::product::Product;
use crate::frontend::builder::{Converted, Refusal};
use crate::ir::{Shape, Value};

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
            product(site, [x, y], dims)
        }
        "dot" => {
            let [x, y] = site.all()?;
            if site.rank(x) == 0 || site.rank(y) == 0 {
                return Err(Refusal::new("takes no scalars"));
            }
            let dims = Dims { batch: [vec![], vec![]], contracted: [vec![site.rank(x) - 1], vec![0]] };
            product(site, [x, y], dims)
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
fn product(site: &mut NodeLowering, operands: [Value; 2], dims: Dims) -> Converted {
    let result = site.result()?.clone();
    let mut matrices = operands;
    let mut free: [Vec<usize>; 2] = Default::default();
    for side in [0, 1] {
        let used = |d: &usize| dims.batch[side].contains(d) || dims.contracted[side].contains(d);
        free[side] = (0..site.rank(operands[side])).filter(|d| !used(d)).collect();
        // A product in a wider type than its operands' is exact in that type.
        matrices[side] = site.cast(operands[side], result.dtype)?;
    }
    let product = Product { operands: matrices, batch: dims.batch, contracted: dims.contracted, free };
    let sizes = |side: usize, of: &[Vec<usize>; 2]| product.sizes(site, side, &of[side]);
    let (batch, inner) = (sizes(0, &product.batch), sizes(0, &product.contracted));
    if batch != sizes(1, &product.batch) || inner != sizes(1, &product.contracted) {
        return Err(Refusal::new("pairs dimensions of different sizes"));
    }
    let stated: Shape = [batch, sizes(0, &product.free), sizes(1, &product.free)].concat().into();
    if stated != result.shape {
        return Err(Refusal::new(format!("gives a tensor of shape {stated:?}, and the module states {result}")));
    }
    // Where both operands would have to be transposed, the transposed product is taken of the two in the other order.
    let ends_with = |side: usize, last: &[usize], before: &[usize]| {
        last.iter().min().zip(before.iter().max()).is_some_and(|(l, b)| l > b) && !product.contracted[side].is_empty()
    };
    let turned = ends_with(0, &product.free[0], &product.contracted[0])
        && ends_with(1, &product.contracted[1], &product.free[1]);
    let Some(mut value) = product.made(site, usize::from(turned))? else { return Ok(None) };
    if turned {
        let (batches, columns) = (product.batch[0].len(), product.free[1].len());
        let order = (0..batches).chain(batches + columns..stated.len()).chain(batches..batches + columns);
        value = site.permute(value, &order.collect::<Vec<_>>())?;
    }
    site.tables.products.insert(value, product);
    site.gives(value)
}

/// If `x` is a product and `dims` a permutation that leaves batches in front: the product in that order, which takes no permutation.
/// The first one is left out where nothing else needs it.
pub(super) fn transposed(site: &mut NodeLowering, x: Value, dims: &[usize]) -> Result<Option<Value>, Refusal> {
    let Some(product) = site.tables.products.get(&x) else { return Ok(None) };
    let (batches, first) = (product.batch[0].len(), product.free[0].len());
    let kind = |&d: &usize| if d < batches { 0 } else { 1 + usize::from(d >= batches + first) };
    let rows = dims.get(batches).map_or(0, |d| kind(d).saturating_sub(1));
    let of_rows = product.free[rows].len();
    let (in_front, behind) = dims.split_at(batches.min(dims.len()));
    let (of_first, of_second) = behind.split_at(of_rows.min(behind.len()));
    let together = in_front.iter().all(|d| kind(d) == 0)
        && of_first.iter().all(|d| kind(d) == 1 + rows)
        && of_second.iter().all(|d| kind(d) == 2 - rows);
    // What moves nothing but batches is a view.
    if !together || dims.is_sorted() || of_first.is_sorted() && of_second.is_sorted() && rows == 0 {
        return Ok(None);
    }
    let mut product = product.clone();
    for side in [0, 1] {
        let start = if side == 0 { batches } else { batches + first };
        let own = if side == rows { of_first } else { of_second };
        product.batch[side] = in_front.iter().map(|&d| product.batch[side][d]).collect();
        product.free[side] = own.iter().map(|&d| product.free[side][d - start]).collect();
    }
    product.made(site, rows)
}

impl Product {
    fn sizes(&self, site: &NodeLowering, side: usize, dims: &[usize]) -> Shape {
        let shape = site.shape(self.operands[side]);
        dims.iter().map(|&d| shape[d]).collect()
    }

    /// The product whose rows are those of operand `rows`: batches, rows, columns.
    fn made(&self, site: &mut NodeLowering, rows: usize) -> Result<Option<Value>, Refusal> {
        let columns = 1 - rows;
        let [batch, of_rows, of_columns, inner] = [
            self.sizes(site, 0, &self.batch[0]),
            self.sizes(site, rows, &self.free[rows]),
            self.sizes(site, columns, &self.free[columns]),
            self.sizes(site, 0, &self.contracted[0]),
        ];
        let count = |sizes: &[usize]| sizes.iter().product::<usize>();
        // Rows may have any number of dimensions where the other side is one matrix.
        let plain = batch.is_empty() && !of_rows.is_empty();
        let in_rows: Shape = if plain { of_rows.clone() } else { Shape::from_slice(&[count(&of_rows)]) };
        let order = [&self.batch[rows][..], &self.free[rows], &self.contracted[rows]].concat();
        let x = site.permute(self.operands[rows], &order)?;
        let x = site.reshape(x, &[&batch[..], &in_rows, &[count(&inner)]].concat())?;
        let order = [&self.batch[columns][..], &self.contracted[columns], &self.free[columns]].concat();
        let y = site.permute(self.operands[columns], &order)?;
        let y = site.reshape(y, &[&batch[..], &[count(&inner), count(&of_columns)]].concat())?;
        let Some(product) = site.emit("matmul", &[], &[x, y])?.and_then(|all| all.first().copied()) else {
            return Ok(None);
        };
        site.reshape(product, &[batch, of_rows, of_columns].concat()).map(Some)
    }
}

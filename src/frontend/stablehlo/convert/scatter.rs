//! Writes at places that other tensors hold.

use super::super::attribute::Attribute;
use super::super::lowering::{NodeLowering, usizes};
use super::gather::{Numbers, signed, starts};
use super::region::{Monoid, expressions, monoids};
use crate::frontend::builder::{Converted, Refusal, int};
use crate::ir::{AttrValue, DType, Number, Shape, Value};

/// What becomes of an element that an update meets.
enum Meeting {
    Replace,
    Join(Monoid),
}

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if name != "scatter" {
        return Ok(None);
    }
    // Several tensors at once are several writes; only one is read here.
    let [x, places, updates] = site.all()?;
    let Some(meeting) = meeting(site) else { return Ok(None) };
    let shape = site.shape(x);
    let keys = [
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
        "index_vector_dim",
    ];
    let ranks = [shape.len(), site.rank(places), site.rank(updates)];
    let numbers = Numbers::read(site, "scatter_dimension_numbers", keys, ranks)?;
    if shape.contains(&0) {
        return Ok(None);
    }
    let places = signed(site, places)?;
    let sizes = site.shape(updates);
    let kept = numbers.kept(shape.len());
    let batch: Vec<usize> = (0..sizes.len()).filter(|d| !numbers.window.contains(d)).collect();
    // Size of the window along each dimension of the operand.
    let window = |dim: usize| match kept.iter().position(|&d| d == dim) {
        Some(i) => sizes[numbers.window[i]],
        None => 1,
    };
    // The dimensions along which updates go to places: whole ones need none.
    let moved: Vec<usize> = (0..shape.len())
        .filter(|&d| numbers.map.contains(&d) || numbers.batching.contains(&d) || window(d) != shape[d])
        .collect();
    let starts = starts(site, places, &numbers)?;
    if let ([dim], [], [start]) = (&moved[..], &numbers.batching[..], &starts[..])
        && window(*dim) == 1
    {
        let along = |d: usize| kept.iter().position(|&k| k == d).map(|i| numbers.window[i]);
        let order: Vec<usize> =
            batch.iter().copied().chain((0..shape.len()).filter(|d| d != dim).filter_map(along)).collect();
        return rows(site, x, *start, updates, *dim, &order, &meeting);
    }
    let mut outside: Option<Value> = None;
    let mut indices = Vec::new();
    // Places have the dimensions of the updates, with ones along those that do not matter.
    for &dim in &moved {
        let mut spread: Shape = Shape::from_elem(1, sizes.len());
        let mut index = None;
        if let Some(i) = numbers.map.iter().position(|&d| d == dim) {
            for (&to, &size) in batch.iter().zip(&site.shape(starts[i])) {
                spread[to] = size;
            }
            let start = site.cast(starts[i], DType::I64)?;
            index = Some(site.reshape(start, &spread)?);
        } else if let Some(i) = numbers.batching.iter().position(|&d| d == dim) {
            let along = numbers.places_batching[i];
            let along = along - usize::from(along > numbers.vector);
            let Some(&to) = batch.get(along) else { return Err(Refusal::new("pairs dimensions that are not there")) };
            spread[to] = sizes[to];
            let counting = site.counting(sizes[to], DType::I64)?;
            index = Some(site.reshape(counting, &spread)?);
        }
        if let Some(i) = kept.iter().position(|&d| d == dim).filter(|&i| sizes[numbers.window[i]] != 1) {
            let to = numbers.window[i];
            let mut spread: Shape = Shape::from_elem(1, sizes.len());
            spread[to] = sizes[to];
            let counting = site.counting(sizes[to], DType::I64)?;
            let counting = site.reshape(counting, &spread)?;
            index = Some(match index {
                Some(index) => site.part("add", &[], &[index, counting])?,
                None => counting,
            });
        }
        let index = match index {
            Some(index) => index,
            None => {
                let zero = site.number(Number::Int(0), DType::I64)?;
                site.reshape(zero, &Shape::from_elem(1, sizes.len()))?
            }
        };
        // An update outside of the operand is not made at all.
        let least = site.number(Number::Int(0), DType::I64)?;
        let most = site.number(Number::Int(shape[dim] as i64), DType::I64)?;
        let below = site.part("lt", &[], &[index, least])?;
        let above = site.part("ge", &[], &[index, most])?;
        let out = site.part("logical_or", &[], &[below, above])?;
        outside = Some(match outside {
            Some(other) => site.part("logical_or", &[], &[other, out])?,
            None => out,
        });
        indices.push(index);
    }
    let Some(outside) = outside else { return Ok(None) };
    flat(site, x, updates, &moved, &indices, outside, &meeting)
}

/// How updates meet what is there.
fn meeting(site: &NodeLowering) -> Option<Meeting> {
    if let Some(&[monoid]) = monoids(site, 1).as_deref() {
        return Some(Meeting::Join(monoid));
    }
    let results = expressions(site.form.regions.first()?, &site.form.arguments)?;
    (results == ["#1"]).then_some(Meeting::Replace)
}

/// Writes whole rows along `dim`. A spare one at the end takes what lies outside. The updates have their rows and the other dimensions of
/// the operand in the order `order`; along `dim` itself they may have a dimension of size 1.
fn rows(
    site: &mut NodeLowering,
    x: Value,
    start: Value,
    updates: Value,
    dim: usize,
    order: &[usize],
    meeting: &Meeting,
) -> Converted {
    let (shape, sizes) = (site.shape(x), site.shape(updates));
    let ones = (0..sizes.len()).filter(|d| !order.contains(d));
    let updates = site.permute(updates, &order.iter().copied().chain(ones).collect::<Vec<_>>())?;
    let count: usize = site.shape(start).iter().product();
    let mut rows: Vec<usize> = shape.to_vec();
    rows.remove(dim);
    rows.insert(0, count);
    let updates = site.reshape(updates, &rows)?;
    let back: Vec<usize> = (1..=dim).chain([0]).chain(dim + 1..rows.len()).collect();
    let updates = site.permute(updates, &back)?;
    let start = site.cast(start, DType::I64)?;
    let mut places = site.reshape(start, &[count])?;
    let by_rows = match meeting {
        Meeting::Replace => true,
        Meeting::Join(monoid) => monoid.on(site.dtype(x) == DType::Bool) == Monoid::Add,
    };
    if !by_rows {
        let mut spread: Shape = Shape::from_elem(1, shape.len());
        spread[dim] = count;
        places = site.reshape(places, &spread)?;
        places = site.expand(places, &site.shape(updates))?;
    }
    let least = site.number(Number::Int(0), DType::I64)?;
    let size = site.number(Number::Int(shape[dim] as i64), DType::I64)?;
    let below = site.part("lt", &[], &[places, least])?;
    let above = site.part("ge", &[], &[places, size])?;
    let outside = site.part("logical_or", &[], &[below, above])?;
    let places = site.part("where", &[], &[outside, size, places])?;
    let mut pad = vec![0; 2 * shape.len()];
    pad[2 * dim + 1] = 1;
    let spare = site.part("pad", &[("pad", usizes(&pad))], &[x])?;
    let Some(written) = write(site, [spare, places, updates], dim, meeting, true)? else { return Ok(None) };
    let value = site.slice(written, dim, 0, shape[dim] as i64, 1)?;
    site.gives(value)
}

/// Updates at places along `dim`. `by_rows` says that there is one place for all elements of a row, where that is possible.
fn write(
    site: &mut NodeLowering,
    operands: [Value; 3],
    dim: usize,
    meeting: &Meeting,
    by_rows: bool,
) -> Result<Option<Value>, Refusal> {
    let is_bool = site.dtype(operands[0]) == DType::Bool;
    let along = ("dim", int(dim as i64));
    let reduce = match meeting {
        Meeting::Replace => None,
        Meeting::Join(monoid) => Some(match monoid.on(is_bool) {
            Monoid::Add => "",
            Monoid::Multiply => "prod",
            Monoid::Maximum => "amax",
            Monoid::Minimum => "amin",
            Monoid::Or if is_bool => "amax",
            Monoid::And if is_bool => "amin",
            Monoid::And | Monoid::Or => return Ok(None),
        }),
    };
    let written = match reduce {
        None if by_rows => {
            let [x, places, updates] = operands;
            site.emit("index_put", &[("dims", usizes(&[dim]))], &[x, updates, places])?
        }
        None => site.emit("scatter", &[along], &operands)?,
        Some("") => site.emit(if by_rows { "index_add" } else { "scatter_add" }, &[along], &operands)?,
        Some(reduce) => site.emit("scatter_reduce", &[along, ("reduce", AttrValue::str(reduce))], &operands)?,
    };
    Ok(written.and_then(|all| all.first().copied()))
}

/// Writes into the operand as one row of elements with a spare one at its end, which takes what lies outside.
fn flat(
    site: &mut NodeLowering,
    x: Value,
    updates: Value,
    moved: &[usize],
    indices: &[Value],
    outside: Value,
    meeting: &Meeting,
) -> Converted {
    let (shape, sizes) = (site.shape(x), site.shape(updates));
    let strides = crate::ir::dense_strides(&shape);
    let numel: usize = shape.iter().product();
    let mut place: Option<Value> = None;
    let mut add = |site: &mut NodeLowering, index: Value, stride: usize| -> Result<(), Refusal> {
        let stride = site.number(Number::Int(stride as i64), DType::I64)?;
        let offset = site.part("mul", &[], &[index, stride])?;
        place = Some(match place {
            Some(place) => site.part("add", &[], &[place, offset])?,
            None => offset,
        });
        Ok(())
    };
    for (&dim, &index) in moved.iter().zip(indices) {
        add(site, index, strides[dim])?;
    }
    // Whole dimensions of the operand are those of the windows, in order.
    let whole = (0..shape.len()).filter(|d| !moved.contains(d));
    let numbers = whole_dims(site, &shape, moved, &sizes)?;
    for (dim, to) in whole.zip(numbers) {
        let mut spread: Shape = Shape::from_elem(1, sizes.len());
        spread[to] = shape[dim];
        let counting = site.counting(shape[dim], DType::I64)?;
        let counting = site.reshape(counting, &spread)?;
        add(site, counting, strides[dim])?;
    }
    let Some(place) = place else { return Ok(None) };
    let spare = site.number(Number::Int(numel as i64), DType::I64)?;
    let place = site.part("where", &[], &[outside, spare, place])?;
    let place = site.expand(place, &sizes)?;
    let count: usize = sizes.iter().product();
    let place = site.reshape(place, &[count])?;
    let row = site.reshape(x, &[numel])?;
    let row = site.part("pad", &[("pad", usizes(&[0, 1]))], &[row])?;
    let values = site.reshape(updates, &[count])?;
    let Some(written) = write(site, [row, place, values], 0, meeting, false)? else { return Ok(None) };
    let kept = site.slice(written, 0, 0, numel as i64, 1)?;
    let value = site.reshape(kept, &shape)?;
    site.gives(value)
}

/// Which dimensions of the updates the whole dimensions of the operand are.
fn whole_dims(site: &NodeLowering, shape: &[usize], moved: &[usize], sizes: &[usize]) -> Result<Vec<usize>, Refusal> {
    let wrong = || Refusal::new("has dimension numbers that make no sense");
    let fields = site.form.attribute(&["scatter_dimension_numbers"]).and_then(Attribute::fields).ok_or_else(wrong)?;
    let list = |key: &str| -> Result<Vec<usize>, Refusal> {
        let dims = fields.ints(key).ok_or_else(wrong)?;
        dims.into_iter().map(|d| usize::try_from(d).map_err(|_| wrong())).collect()
    };
    let (window, inserted, batching) =
        (list("update_window_dims")?, list("inserted_window_dims")?, list("input_batching_dims")?);
    let kept = (0..shape.len()).filter(|d| !inserted.contains(d) && !batching.contains(d));
    let pairs: Vec<(usize, usize)> = kept.zip(window).collect();
    let found = (0..shape.len()).filter(|d| !moved.contains(d)).map(|dim| {
        let (_, to) = pairs.iter().find(|(d, _)| *d == dim).copied().ok_or_else(wrong)?;
        if sizes.get(to) == Some(&shape[dim]) { Ok(to) } else { Err(wrong()) }
    });
    found.collect()
}

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
    let dtype = site.dtype(x);
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
    let dim = ("dim", int(0));
    let written = match meeting {
        Meeting::Replace => site.emit("scatter", &[dim], &[row, place, values])?,
        Meeting::Join(monoid) => match (monoid.on(dtype == DType::Bool), dtype) {
            (Monoid::Add, _) => site.emit("scatter_add", &[dim], &[row, place, values])?,
            (other, _) => {
                let reduce = match other {
                    Monoid::Multiply => "prod",
                    Monoid::Maximum => "amax",
                    Monoid::Minimum => "amin",
                    Monoid::Or if dtype == DType::Bool => "amax",
                    Monoid::And if dtype == DType::Bool => "amin",
                    _ => return Ok(None),
                };
                site.emit("scatter_reduce", &[dim, ("reduce", AttrValue::str(reduce))], &[row, place, values])?
            }
        },
    };
    let Some(written) = written.and_then(|all| all.first().copied()) else { return Ok(None) };
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

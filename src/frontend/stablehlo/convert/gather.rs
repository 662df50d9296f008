//! Reads at places that other tensors hold: gather, and slices whose start is computed.

use super::super::attribute::Attribute;
use super::super::lowering::{NodeLowering, dimension, distinct, usizes};
use crate::frontend::builder::{Converted, Refusal, int};
use crate::ir::{DType, Number, Shape, Value};

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    match name {
        "gather" => gather(site),
        "dynamic_slice" => dynamic_slice(site),
        "dynamic_update_slice" => dynamic_update_slice(site),
        "torch_index_select" => Ok(None),
        _ => Ok(None),
    }
}

/// Which dimensions of the operand, of the places and of the windows belong together, for gather and scatter.
pub(super) struct Numbers {
    /// Dimensions of the result (of the updates) that run through a window.
    pub window: Vec<usize>,
    /// Dimensions of the operand that windows lack: they have size 1 there.
    pub collapsed: Vec<usize>,
    /// Dimensions of the operand that go along with those in `places_batching`.
    pub batching: Vec<usize>,
    pub places_batching: Vec<usize>,
    /// Which dimension of the operand each number of a place is for.
    pub map: Vec<usize>,
    /// The dimension of the places along which the numbers of a place stand.
    pub vector: usize,
}

impl Numbers {
    /// Reads `#stablehlo.gather<…>` or `#stablehlo.scatter<…>`, whose keys differ.
    pub(super) fn read(site: &NodeLowering, key: &str, keys: [&str; 6], ranks: [usize; 3]) -> Result<Self, Refusal> {
        let wrong = || Refusal::new("has dimension numbers that make no sense");
        let fields = site.form.attribute(&[key]).and_then(Attribute::fields).ok_or_else(wrong)?;
        let [operand, places, result] = ranks;
        let list = |key: &str, rank: usize| -> Result<Vec<usize>, Refusal> {
            let dims: Vec<usize> = fields
                .ints(key)
                .ok_or_else(wrong)?
                .into_iter()
                .map(|d| dimension(d, rank))
                .collect::<Result<_, _>>()?;
            if distinct(&dims, rank) { Ok(dims) } else { Err(wrong()) }
        };
        let vector = fields.get("index_vector_dim").map_or(Some(0), super::super::attribute::Attribute::int);
        let vector = vector.and_then(|v| usize::try_from(v).ok()).filter(|&v| v <= places).ok_or_else(wrong)?;
        let numbers = Numbers {
            window: list(keys[0], result)?,
            collapsed: list(keys[1], operand)?,
            batching: list(keys[2], operand)?,
            places_batching: list(keys[3], places)?,
            map: list(keys[4], operand)?,
            vector,
        };
        let sorted = numbers.window.is_sorted();
        let missing: Vec<usize> = numbers.collapsed.iter().chain(&numbers.batching).copied().collect();
        let used: Vec<usize> = numbers.map.iter().chain(&numbers.batching).copied().collect();
        let fits = sorted
            && numbers.batching.len() == numbers.places_batching.len()
            && distinct(&missing, operand)
            && distinct(&used, operand)
            && numbers.window.len() + missing.len() == operand
            && !numbers.places_batching.contains(&vector);
        if fits { Ok(numbers) } else { Err(wrong()) }
    }

    /// The dimension along which every element of the result is one of the operand, at a place of its own and otherwise at its own places:
    /// what PyTorch calls `gather`. `batch` is the rank of the places.
    fn picked_along(&self, sizes: &[usize], batch: usize) -> Option<usize> {
        let [dim] = self.map[..] else { return None };
        let along = |i: usize| i - usize::from(i > self.vector);
        let aligned = self.batching.iter().zip(&self.places_batching).all(|(&d, &i)| along(i) == d);
        let all = self.window.is_empty()
            && !self.batching.is_empty()
            && batch == sizes.len()
            && sizes.iter().all(|&s| s == 1);
        (all && aligned).then_some(dim)
    }

    /// Dimensions of the operand that windows have, in order.
    pub(super) fn kept(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|d| !self.collapsed.contains(d) && !self.batching.contains(d)).collect()
    }
}

/// For every dimension of the operand in `map`, where each window starts, in 64 bits and of the shape of the places without
/// the vector dimension.
pub(super) fn starts(site: &mut NodeLowering, places: Value, numbers: &Numbers) -> Result<Vec<Value>, Refusal> {
    let mut shape = site.shape(places);
    if numbers.vector == shape.len() {
        shape.push(1);
    }
    if shape[numbers.vector] != numbers.map.len() {
        return Err(Refusal::new(format!(
            "has places of {} numbers instead of {}",
            shape[numbers.vector],
            numbers.map.len()
        )));
    }
    let places = site.reshape(places, &shape)?;
    shape.remove(numbers.vector);
    (0..numbers.map.len() as i64)
        .map(|i| {
            let one = site.slice(places, numbers.vector, i, i + 1, 1)?;
            site.reshape(one, &shape)
        })
        .collect()
}

/// Places in the type that PyTorch has them in.
pub(super) fn signed(site: &mut NodeLowering, places: Value) -> Result<Value, Refusal> {
    site.cast(places, DType::I64)
}

/// `value` limited to `0..=most`.
fn limited(site: &mut NodeLowering, value: Value, most: i64) -> Result<Value, Refusal> {
    site.part("clamp", &[("min", int(0)), ("max", int(most))], &[value])
}

/// Windows of the operand that start at the places, moved inside where they would reach out of it.
fn gather(site: &mut NodeLowering) -> Converted {
    let [x, places] = site.all()?;
    let result = site.result()?.clone();
    let shape = site.shape(x);
    let keys = [
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
        "index_vector_dim",
    ];
    let ranks = [shape.len(), site.rank(places), result.rank()];
    let numbers = Numbers::read(site, "dimension_numbers", keys, ranks)?;
    let sizes = site.ints(&["slice_sizes"])?;
    let sizes: Shape = sizes.into_iter().map(|s| usize::try_from(s).unwrap_or(usize::MAX)).collect();
    if sizes.len() != shape.len() || sizes.iter().zip(&shape).any(|(size, whole)| size > whole) {
        return Err(Refusal::new(format!("takes windows of {sizes:?} from {}", site.low.ty(x))));
    }
    let places = signed(site, places)?;
    let starts = starts(site, places, &numbers)?;
    let mut batch = site.shape(places);
    if numbers.vector < batch.len() {
        batch.remove(numbers.vector);
    }
    if let Some(dim) = numbers.picked_along(&sizes, batch.len()) {
        let place = limited(site, starts[0], (shape[dim] - 1) as i64)?;
        let picked = site.part("gather", &[("dim", int(dim as i64))], &[x, place])?;
        return site.gives(picked);
    }
    // Dimensions that are not read whole: where along them each element lies.
    let partial = |d: &usize| {
        let placed = numbers.map.contains(d) && (sizes[*d] < shape[*d] || numbers.collapsed.contains(d));
        numbers.batching.contains(d) || placed
    };
    // A window of a part of a dimension without a place is the first part.
    let mut x = x;
    for dim in 0..shape.len() {
        if !numbers.map.contains(&dim) && !numbers.batching.contains(&dim) {
            x = site.slice(x, dim, 0, sizes[dim] as i64, 1)?;
            if numbers.collapsed.contains(&dim) {
                return Ok(None);
            }
        }
    }
    let read: Vec<usize> = (0..shape.len()).filter(partial).collect();
    let windows: Vec<usize> = read.iter().copied().filter(|d| sizes[*d] != 1).collect();
    let mut indices = Vec::new();
    for &dim in &read {
        let mut index = if let Some(i) = numbers.batching.iter().position(|&d| d == dim) {
            let along = numbers.places_batching[i];
            let along = along - usize::from(along > numbers.vector);
            let counting = site.counting(shape[dim], site.dtype(places))?;
            let mut spread = vec![1; batch.len()];
            match spread.get_mut(along) {
                Some(size) if batch[along] == shape[dim] => *size = shape[dim],
                _ => return Err(Refusal::new("pairs dimensions of different sizes")),
            }
            site.reshape(counting, &spread)?
        } else {
            let Some(i) = numbers.map.iter().position(|&d| d == dim) else { return Ok(None) };
            limited(site, starts[i], (shape[dim] - sizes[dim]) as i64)?
        };
        // Behind the dimensions of the batch stand those of the windows.
        if !windows.is_empty() {
            let mut spread: Shape = site.shape(index);
            spread.extend(windows.iter().map(|_| 1));
            index = site.reshape(index, &spread)?;
        }
        if let Some(i) = windows.iter().position(|&d| d == dim) {
            let counting = site.counting(sizes[dim], site.dtype(places))?;
            let mut spread = vec![1; windows.len()];
            spread[i] = sizes[dim];
            let counting = site.reshape(counting, &spread)?;
            index = site.part("add", &[], &[index, counting])?;
        }
        indices.push(index);
    }
    let joint: Shape = batch.iter().copied().chain(windows.iter().map(|&d| sizes[d])).collect();
    if indices.iter().all(|&i| site.shape(i) != joint)
        && let Some(first) = indices.first_mut()
    {
        *first = site.expand(*first, &joint)?;
    }
    // Dimensions of operand that stand in the result beside `joint`, and where `joint` stands among them.
    let whole: Vec<usize> = (0..shape.len()).filter(|d| !read.contains(d)).collect();
    let (value, start) = match read[..] {
        [] => {
            let shape: Shape = batch.iter().chain(&site.shape(x)).copied().collect();
            (site.expand(x, &shape)?, 0)
        }
        [0] if shape.len() == 2 => (made(site, "embedding", &[], &[x, indices[0]])?, 0),
        [dim] if joint.len() == 1 => (made(site, "index_select", &[("dim", int(dim as i64))], &[x, indices[0]])?, dim),
        _ => {
            let adjacent = read.windows(2).all(|w| w[0] + 1 == w[1]);
            let operands: Vec<Value> = [x].into_iter().chain(indices).collect();
            (made(site, "index", &[("dims", usizes(&read))], &operands)?, if adjacent { read[0] } else { 0 })
        }
    };
    // The result of `index`: whole dimensions in front of `start`, batch, windows, whole dimensions behind.
    let position = |dim: usize| match windows.iter().position(|&d| d == dim) {
        Some(i) => Some(start + batch.len() + i),
        None => whole.iter().position(|&d| d == dim).map(|i| if i < start { i } else { i + joint.len() }),
    };
    let mut value = value;
    let kept = numbers.kept(shape.len());
    // Dimensions that a window has with size 1 and that were read by place are not there yet.
    let mut order = Vec::new();
    let (mut next_batch, mut next_window) = (0, 0);
    for dim in 0..result.rank() {
        if numbers.window.contains(&dim) {
            order.extend(kept.get(next_window).and_then(|&d| position(d)));
            next_window += 1;
        } else {
            order.push(start + next_batch);
            next_batch += 1;
        }
    }
    if next_batch != batch.len() || next_window != kept.len() || !distinct(&order, site.rank(value)) {
        return Err(Refusal::new("has dimension numbers that do not fit its result"));
    }
    if order.len() != site.rank(value) {
        return Err(Refusal::new("has dimension numbers that do not fit its operand"));
    }
    value = site.permute(value, &order)?;
    value = site.reshape(value, &result.shape)?;
    site.gives(value)
}

/// The node that stands for the operation.
fn made(
    site: &mut NodeLowering,
    op: &str,
    attrs: &[(&str, crate::ir::AttrValue)],
    operands: &[Value],
) -> Result<Value, Refusal> {
    let values = site.emit(op, attrs, operands)?;
    values.and_then(|v| v.first().copied()).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))
}

/// The starts of a slice along every dimension: known ones as numbers, moved inside.
fn slice_starts(
    site: &NodeLowering,
    starts: &[Value],
    shape: &[usize],
    sizes: &[usize],
) -> Result<Vec<Option<i64>>, Refusal> {
    if starts.len() != shape.len() || sizes.len() != shape.len() || sizes.iter().zip(shape).any(|(s, whole)| s > whole)
    {
        return Err(Refusal::new(format!("takes a slice of {sizes:?} from a tensor of shape {shape:?}")));
    }
    let start = |(d, &start): (usize, &Value)| {
        let most = (shape[d] - sizes[d]) as i64;
        let known = site.uniform(start).and_then(Number::to_i64).map(|s| s.clamp(0, most));
        if most == 0 { Some(0) } else { known }
    };
    Ok(starts.iter().enumerate().map(start).collect())
}

fn dynamic_slice(site: &mut NodeLowering) -> Converted {
    let Some((&x, starts)) = site.operands.split_first() else { return Err(Refusal::new("has no operand")) };
    let shape = site.shape(x);
    let sizes = site.ints(&["sizes", "slice_sizes"])?;
    let sizes: Shape = sizes.into_iter().map(|s| usize::try_from(s).unwrap_or(usize::MAX)).collect();
    let known = slice_starts(site, starts, &shape, &sizes)?;
    let mut value = x;
    for (dim, start) in known.iter().enumerate() {
        value = match start {
            Some(start) => site.slice(value, dim, *start, start + sizes[dim] as i64, 1)?,
            None => {
                let places = window_places(site, starts[dim], shape[dim], sizes[dim])?;
                site.part("index_select", &[("dim", int(dim as i64))], &[value, places])?
            }
        };
    }
    site.gives(value)
}

/// The places of a window of `size` that starts at the scalar `start`, moved inside a dimension of size `whole`.
fn window_places(site: &mut NodeLowering, start: Value, whole: usize, size: usize) -> Result<Value, Refusal> {
    let start = site.cast(start, DType::I64)?;
    let start = limited(site, start, (whole - size) as i64)?;
    if size == 1 {
        return site.reshape(start, &[1]);
    }
    let counting = site.counting(size, DType::I64)?;
    site.part("add", &[], &[counting, start])
}

fn dynamic_update_slice(site: &mut NodeLowering) -> Converted {
    let [x, update, starts @ ..] = site.operands else { return Err(Refusal::new("has too few operands")) };
    let (shape, sizes) = (site.shape(*x), site.shape(*update));
    let known = slice_starts(site, starts, &shape, &sizes)?;
    let partial: Vec<usize> = (0..shape.len()).filter(|&d| sizes[d] != shape[d]).collect();
    if let Some(known) = known.iter().copied().collect::<Option<Vec<i64>>>() {
        let value = written(site, *x, *update, &partial, &known, &sizes)?;
        return site.gives(value);
    }
    if partial.len() == 1 || partial.windows(2).all(|w| w[0] + 1 == w[1]) {
        let mut operands = vec![*x, *update];
        for (i, &dim) in partial.iter().enumerate() {
            let places = window_places(site, starts[dim], shape[dim], sizes[dim])?;
            let mut spread = vec![1; partial.len()];
            spread[i] = sizes[dim];
            operands.push(site.reshape(places, &spread)?);
        }
        return site.emit("index_put", &[("dims", usizes(&partial))], &operands);
    }
    // The dimensions that places are known for go to the front, as `index_put` wants them.
    let rest = (0..shape.len()).filter(|d| !partial.contains(d));
    let order: Vec<usize> = partial.iter().copied().chain(rest).collect();
    let update = site.permute(*update, &order)?;
    let mut operands = vec![*x, update];
    for (i, &dim) in partial.iter().enumerate() {
        let places = window_places(site, starts[dim], shape[dim], sizes[dim])?;
        let mut spread = vec![1; partial.len()];
        spread[i] = sizes[dim];
        operands.push(site.reshape(places, &spread)?);
    }
    site.emit("index_put", &[("dims", usizes(&partial))], &operands)
}

/// `x` with `update` in the place of its slice from `starts` on, which differs from all of `x` along `dims` only.
fn written(
    site: &mut NodeLowering,
    x: Value,
    update: Value,
    dims: &[usize],
    starts: &[i64],
    sizes: &[usize],
) -> Result<Value, Refusal> {
    let Some((&dim, rest)) = dims.split_first() else { return Ok(update) };
    let (start, size) = (starts[dim], sizes[dim] as i64);
    let whole = site.shape(x)[dim] as i64;
    let mut parts = Vec::new();
    if start > 0 {
        parts.push(site.slice(x, dim, 0, start, 1)?);
    }
    let middle = if rest.is_empty() { x } else { site.slice(x, dim, start, start + size, 1)? };
    parts.push(written(site, middle, update, rest, starts, sizes)?);
    if start + size < whole {
        parts.push(site.slice(x, dim, start + size, whole, 1)?);
    }
    site.part("concat", &[("dim", int(dim as i64))], &parts)
}

//! Pooling.

use super::conv::{Windows, spatial};
use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Number, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("MaxPool", &[1, 8, 10, 11, 12, 22], max_pool),
    standard("AveragePool", &[1, 7, 10, 11, 19, 22], average_pool),
    standard("LpPool", &[1, 2, 11, 18, 22], lp_pool),
    standard("GlobalAveragePool", &[1, 22], |s| global(s, "mean")),
    standard("GlobalMaxPool", &[1, 22], |s| global(s, "amax")),
    standard("GlobalLpPool", &[1, 2, 22], global_lp),
];

/// One number per channel.
fn global(s: &mut NodeLowering, op: &str) -> Lowered {
    let x = s.x(0)?;
    let dims: Vec<i64> = (2..s.rank(x) as i64).collect();
    s.done(op, &[("dim", ints(&dims)), ("keepdim", AttrValue::Bool(true))], &[x])
}

fn global_lp(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dims: Vec<i64> = (2..s.rank(x) as i64).collect();
    let attrs =
        [("ord", AttrValue::float(s.int("p", 2)? as f64)), ("dim", ints(&dims)), ("keepdim", AttrValue::Bool(true))];
    s.done("vector_norm", &attrs, &[x])
}

/// Where windows start, with the padding that the last ones need where sizes are rounded up.
struct Grid {
    windows: Windows,
    /// How many windows there are in each dimension.
    counts: Vec<i64>,
    /// What the last window reaches beyond the padding.
    beyond: Vec<i64>,
}

fn grid(s: &NodeLowering, x: Value) -> Result<Grid, Refusal> {
    let sizes = spatial(s, x)?;
    let kernel = s.int_list("kernel_shape")?.ok_or_else(|| Refusal::new("needs the attribute `kernel_shape`"))?;
    let windows = Windows::of(s, &sizes, kernel)?;
    let automatic = !matches!(s.text("auto_pad", "NOTSET")?, "NOTSET" | "");
    let rounds_up = s.flag("ceil_mode")? && !automatic;
    let mut counts = Vec::new();
    let mut beyond = Vec::new();
    for (d, &size) in sizes.iter().enumerate() {
        let [low, high] = windows.pads[d];
        let (stride, reach) = (windows.strides[d], windows.dilations[d] * (windows.kernel[d] - 1) + 1);
        let room = size + low + high - reach;
        if room < 0 && !rounds_up {
            return Err(Refusal::new(format!("has windows of {reach} in an image of {size}")));
        }
        let mut count = if rounds_up { (room + stride - 1).div_euclid(stride) + 1 } else { room / stride + 1 };
        // A window that starts behind the image is none.
        if rounds_up && (count - 1) * stride >= size + low {
            count -= 1;
        }
        counts.push(count);
        beyond.push(((count - 1) * stride + reach - size - low - high).max(0));
    }
    Ok(Grid { windows, counts, beyond })
}

impl Grid {
    /// Padding for all dimensions of an image, up to where the last windows end.
    fn padding(&self) -> Vec<i64> {
        let sides = self.windows.pads.iter().zip(&self.beyond).flat_map(|([low, high], more)| [*low, high + more]);
        [0; 4].into_iter().chain(sides).collect()
    }

    /// The elements of every window in last dimensions of their own, one per spatial dimension, in front of which stand batch,
    /// channel and windows.
    fn unfolded(&self, s: &mut NodeLowering, mut x: Value) -> Result<Value, Refusal> {
        for (d, &count) in self.counts.iter().enumerate() {
            let (kernel, stride, dilation) =
                (self.windows.kernel[d], self.windows.strides[d], self.windows.dilations[d]);
            let reach = dilation * (kernel - 1) + 1;
            let int = crate::frontend::builder::int;
            let attrs = [("dim", int(d as i64 + 2)), ("size", int(reach)), ("step", int(stride))];
            x = s.op("unfold", &attrs, &[x])?;
            x = s.slice(x, d as i64 + 2, 0, count)?;
            if dilation > 1 {
                let last = s.rank(x) as i64 - 1;
                let attrs = [("dim", int(last)), ("start", int(0)), ("end", int(reach)), ("step", int(dilation))];
                x = s.op("slice", &attrs, &[x])?;
            }
        }
        Ok(x)
    }

    /// The dimensions that [`unfolded`](Self::unfolded) adds.
    fn inner(&self) -> Vec<i64> {
        let count = self.counts.len() as i64;
        (2 + count..2 + 2 * count).collect()
    }

    /// The pooling operator for these windows, by what it does in two and three dimensions, with its attributes and the image as it takes it:
    /// a line is an image of one row. `None` if it has none. Where sizes are rounded up, it counts windows alike.
    fn pooling(&self, s: &mut NodeLowering, x: Value, ops: [&'static str; 2]) -> Result<Option<Pooling>, Refusal> {
        let windows = &self.windows;
        let is_half = windows.pads.iter().zip(&windows.kernel).all(|(pads, kernel)| pads[0] <= kernel / 2);
        if windows.rest().is_some() || !is_half {
            return Ok(None);
        }
        let (op, is_line) = match self.counts.len() {
            1 => (ops[0], true),
            2 => (ops[0], false),
            3 => (ops[1], false),
            _ => return Ok(None),
        };
        let along = |all: &[i64], one: i64| match is_line {
            true => ints(&[&[one], all].concat()),
            false => ints(all),
        };
        let attrs = vec![
            ("kernel_size", along(&windows.kernel, 1)),
            ("stride", along(&windows.strides, 1)),
            ("padding", along(&windows.even(), 0)),
            ("ceil_mode", AttrValue::Bool(self.beyond.iter().any(|&b| b > 0))),
        ];
        let image = if is_line { s.op("unsqueeze", &[("dim", AttrValue::Int(2))], &[x])? } else { x };
        Ok(Some(Pooling { op, attrs, image, is_line, dilation: along(&windows.dilations, 1) }))
    }
}

/// A pooling operator on an image.
struct Pooling {
    op: &'static str,
    attrs: Vec<(&'static str, AttrValue)>,
    image: Value,
    is_line: bool,
    dilation: AttrValue,
}

impl Pooling {
    fn done(self, s: &mut NodeLowering, (name, value): (&'static str, AttrValue)) -> Lowered {
        let attrs = [&self.attrs[..], &[(name, value)]].concat();
        match self.is_line {
            true => {
                let pooled = s.op(self.op, &attrs, &[self.image])?;
                s.done("squeeze", &[("dim", AttrValue::Int(2))], &[pooled])
            }
            false => s.done(self.op, &attrs, &[self.image]),
        }
    }
}

fn least(dtype: DType) -> Number {
    dtype.int_range().map_or(Number::float(f64::NEG_INFINITY), |(low, _)| Number::Int(low))
}

fn max_pool(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let grid = grid(s, x)?;
    let dtype = s.dtype(x);
    if !s.wants(1)
        && dtype.is_float()
        && let Some(pooling) = grid.pooling(s, x, ["max_pool2d", "max_pool3d"])?
    {
        let dilation = pooling.dilation.clone();
        return pooling.done(s, ("dilation", dilation));
    }
    let padding = grid.padding();
    let padded = s.op("pad", &[("pad", ints(&padding)), ("value", least(dtype).into())], &[x])?;
    let all = grid.unfolded(s, padded)?;
    if !s.wants(1) {
        return one(s.reduce("amax", all, &grid.inner(), false)?);
    }
    // Places in the whole tensor, in row-major order or, of the image, in column-major order.
    let shape: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
    let mut places: Option<Value> = None;
    let mut step = 1;
    let spatial: Vec<usize> = (2..shape.len()).collect();
    let inner: Vec<usize> = if s.flag("storage_order")? { spatial } else { spatial.into_iter().rev().collect() };
    for d in inner.into_iter().chain([1, 0]) {
        let own = s.positions(shape[d])?;
        let sizes: Vec<i64> = (0..shape.len()).map(|e| if e == d { shape[d] } else { 1 }).collect();
        let own = s.reshape(own, &sizes)?;
        let own = s.with("mul", own, step)?;
        places = Some(match places {
            None => own,
            Some(sum) => s.binary("add", sum, own)?,
        });
        step *= shape[d];
    }
    let places = places.ok_or_else(|| Refusal::new("takes an image"))?;
    let places = s.expand(places, &shape)?;
    let places = s.op("pad", &[("pad", ints(&padding))], &[places])?;
    let places = grid.unfolded(s, places)?;
    let flat = |s: &mut NodeLowering, v: Value| {
        let kernel: i64 = grid.windows.kernel.iter().product();
        let sizes: Vec<i64> = shape[..2].iter().chain(&grid.counts).copied().chain([kernel]).collect();
        s.reshape(v, &sizes)
    };
    let (all, places) = (flat(s, all)?, flat(s, places)?);
    let last = s.rank(all) as i64 - 1;
    let int = crate::frontend::builder::int;
    let hit = s.op("argmax", &[("dim", int(last)), ("keepdim", AttrValue::Bool(true))], &[all])?;
    let place = s.op("gather", &[("dim", int(last))], &[places, hit])?;
    let place = s.op("squeeze", &[("dim", int(last))], &[place])?;
    let y = s.reduce("amax", all, &[last], false)?;
    Ok(Some(vec![y.into(), place.into()]))
}

fn average_pool(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let grid = grid(s, x)?;
    let counts_padding = s.flag("count_include_pad")?;
    let windows = &grid.windows;
    let is_padded = windows.pads.iter().any(|p| *p != [0, 0]);
    if windows.dilations.iter().all(|&d| d == 1)
        && let Some(pooling) = grid.pooling(s, x, ["avg_pool2d", "avg_pool3d"])?
    {
        return pooling.done(s, ("count_include_pad", AttrValue::Bool(counts_padding || !is_padded)));
    }
    let padding = grid.padding();
    let padded = s.op("pad", &[("pad", ints(&padding)), ("value", AttrValue::float(0.0))], &[x])?;
    let all = grid.unfolded(s, padded)?;
    let sums = s.reduce("sum", all, &grid.inner(), false)?;
    // How many elements of a window count: those of the image, and the padding if it does. Beyond that nothing counts.
    let dtype = s.dtype(x);
    let shape: Vec<i64> = [1, 1].into_iter().chain(spatial(s, x)?).collect();
    let ones = s.full(&shape, 1.0, dtype)?;
    let own: Vec<i64> = [0; 4].into_iter().chain(windows.pads.iter().flat_map(|p| p.iter().copied())).collect();
    let beyond: Vec<i64> = padding.iter().zip(&own).map(|(all, own)| all - own).collect();
    let number = if counts_padding { 1.0 } else { 0.0 };
    let counted = s.op("pad", &[("pad", ints(&own)), ("value", AttrValue::float(number))], &[ones])?;
    let counted = s.op("pad", &[("pad", ints(&beyond)), ("value", AttrValue::float(0.0))], &[counted])?;
    let counted = grid.unfolded(s, counted)?;
    let counted = s.reduce("sum", counted, &grid.inner(), false)?;
    s.done("div", &[], &[sums, counted])
}

fn lp_pool(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let grid = grid(s, x)?;
    let p = s.int("p", 2)? as f64;
    let padding = grid.padding();
    let padded = s.op("pad", &[("pad", ints(&padding)), ("value", AttrValue::float(0.0))], &[x])?;
    let all = grid.unfolded(s, padded)?;
    s.done("vector_norm", &[("ord", AttrValue::float(p)), ("dim", ints(&grid.inner()))], &[all])
}

//! Convolutions with any order of dimensions.

use super::super::attribute::Attribute;
use super::super::lowering::NodeLowering;
use super::pad::spread;
use crate::frontend::builder::{Converted, Refusal, int, ints};
use crate::ir::{Number, Shape, Value};

/// Where batch, features and spatial dimensions stand in a tensor; for kernels, output and input features.
struct Order {
    first: usize,
    second: usize,
    spatial: Vec<usize>,
}

impl Order {
    /// From the words between brackets, such as `b, 0, 1, f`.
    fn read(words: &[&str], first: &str, second: &str) -> Option<Order> {
        let at = |word: &str| words.iter().position(|w| *w == word);
        let spatial = (0..words.len().checked_sub(2)?).map(|i| at(&i.to_string())).collect::<Option<_>>()?;
        Some(Order { first: at(first)?, second: at(second)?, spatial })
    }

    fn all(&self) -> Vec<usize> {
        [self.first, self.second].into_iter().chain(self.spatial.iter().copied()).collect()
    }

    /// The permutation that undoes [`all`](Self::all).
    fn back(&self) -> Vec<usize> {
        let all = self.all();
        let mut back = vec![0; all.len()];
        for (i, &d) in all.iter().enumerate() {
            back[d] = i;
        }
        back
    }
}

/// How windows move over the operand.
struct Window {
    stride: Vec<i64>,
    pad: Vec<(i64, i64)>,
    spread: Vec<i64>,
    dilation: Vec<i64>,
    reverse: Vec<i64>,
}

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if name != "convolution" {
        return Ok(None);
    }
    let [x, w] = site.all()?;
    let result = site.result()?.clone();
    let numbers = site.form.attribute(&["dim_numbers", "dimension_numbers"]);
    let wrong = || Refusal::new("has dimension numbers that make no sense");
    let fields = numbers.and_then(Attribute::fields);
    let lists = match &fields {
        Some(fields) => fields.all().lists(),
        None => numbers.map(Attribute::lists).unwrap_or_default(),
    };
    let [x_words, w_words, y_words] = &lists[..] else { return Err(wrong()) };
    let orders = Order::read(x_words, "b", "f").zip(Order::read(w_words, "o", "i")).zip(Order::read(y_words, "b", "f"));
    let ((of_x, of_w), of_y) = orders.ok_or_else(wrong)?;
    let spatial = of_x.spatial.len();
    let ranks = [(&of_x, x), (&of_w, w)].iter().all(|(order, v)| order.all().len() == site.rank(*v));
    if !ranks || of_w.spatial.len() != spatial || of_y.all().len() != result.rank() {
        return Err(wrong());
    }
    let window = window(site, spatial)?;
    // The table convolves floats.
    if site.shape(w).contains(&0) || site.shape(x).contains(&0) || !result.dtype.is_float() {
        return Ok(None);
    }
    let x = site.cast(x, result.dtype)?;
    let w = site.cast(w, result.dtype)?;
    let mut x = site.permute(x, &of_x.all())?;
    let mut w = site.permute(w, &of_w.all())?;
    let turned: Vec<usize> = (0..spatial).filter(|&d| window.reverse[d] != 0).map(|d| d + 2).collect();
    if !turned.is_empty() {
        w = site.part("flip", &[("dims", super::super::lowering::usizes(&turned))], &[w])?;
    }
    let gaps: Vec<i64> = [0, 0].into_iter().chain(window.spread.iter().map(|s| s - 1)).collect();
    let zero = Number::float(0.0);
    x = spread(site, x, &gaps, zero)?;
    let mut groups = site.int_or(&["feature_group_count"], 1);
    let batches = site.int_or(&["batch_group_count"], 1);
    if batches > 1 {
        (x, groups) = (batches_as_groups(site, x, batches)?, batches);
    }
    let op = match spatial {
        0 => None,
        1 => Some("conv1d"),
        2 => Some("conv2d"),
        3 => Some("conv3d"),
        _ => return Ok(None),
    };
    let Some(op) = op else {
        // Without spatial dimensions a convolution is a product, of groups of features each.
        if groups != 1 {
            return Ok(None);
        }
        let values = site.emit("linear", &[], &[x, w])?;
        let Some(value) = values.and_then(|all| all.first().copied()) else { return Ok(None) };
        let value = site.permute(value, &of_y.back())?;
        return site.gives(value);
    };
    let even = window.pad.iter().all(|&(low, high)| low == high && low >= 0);
    if !even {
        let pad: Vec<i64> = [0; 4].into_iter().chain(window.pad.iter().flat_map(|&(l, h)| [l, h])).collect();
        x = site.part("pad", &[("pad", ints(&pad)), ("value", zero.into())], &[x])?;
    }
    let padding: Vec<i64> = window.pad.iter().map(|&(low, _)| if even { low } else { 0 }).collect();
    let attrs = [
        ("stride", ints(&window.stride)),
        ("padding", ints(&padding)),
        ("dilation", ints(&window.dilation)),
        ("groups", int(groups)),
    ];
    // Where the padded operand is smaller than the kernel the result is empty, which the table refuses.
    if result.numel() == 0 {
        return Ok(None);
    }
    let values = site.emit(op, &attrs, &[x, w])?;
    let Some(value) = values.and_then(|all| all.first().copied()) else { return Ok(None) };
    let value = site.permute(value, &of_y.back())?;
    site.gives(value)
}

/// `window = {stride = [1, 1], pad = [[0, 0], [0, 0]], …}`, or attributes of their own.
fn window(site: &NodeLowering, spatial: usize) -> Result<Window, Refusal> {
    let inside = site.form.attribute(&["window"]);
    let list = |short: &str, long: &str, default: i64, count: usize| -> Result<Vec<i64>, Refusal> {
        let found = inside.and_then(|w| w.get(short)).or_else(|| site.form.attribute(&[long]));
        let Some(found) = found else { return Ok(vec![default; count]) };
        let list = found.ints().filter(|l| l.len() == count || (count == 0 && l.is_empty()));
        list.ok_or_else(|| Refusal::new(format!("takes {count} numbers as `{short}`")))
    };
    let pad = list("pad", "padding", 0, 2 * spatial)?;
    let window = Window {
        stride: list("stride", "window_strides", 1, spatial)?,
        pad: pad.chunks(2).map(|p| (p[0], p[1])).collect(),
        spread: list("lhs_dilate", "lhs_dilation", 1, spatial)?,
        dilation: list("rhs_dilate", "rhs_dilation", 1, spatial)?,
        reverse: list("reverse", "window_reversal", 0, spatial)?,
    };
    let positive = [&window.stride, &window.spread, &window.dilation].iter().all(|l| l.iter().all(|&n| n > 0));
    if positive { Ok(window) } else { Err(Refusal::new("has a window that makes no sense")) }
}

/// Groups of the batch as groups of features: (groups times batch, features, …) becomes (batch, groups times features, …).
fn batches_as_groups(site: &mut NodeLowering, x: Value, groups: i64) -> Result<Value, Refusal> {
    let shape = site.shape(x);
    let groups = usize::try_from(groups).ok().filter(|&g| shape[0].is_multiple_of(g));
    let groups = groups.ok_or_else(|| Refusal::new("divides its batch into groups of different sizes"))?;
    let rest = shape[0] / groups;
    let apart: Shape = [groups, rest].into_iter().chain(shape[1..].iter().copied()).collect();
    let apart = site.reshape(x, &apart)?;
    let order: Vec<usize> = [1, 0].into_iter().chain(2..=shape.len()).collect();
    let moved = site.permute(apart, &order)?;
    let joined: Shape = [rest, groups * shape[1]].into_iter().chain(shape[2..].iter().copied()).collect();
    site.reshape(moved, &joined)
}

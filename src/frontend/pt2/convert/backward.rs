//! Gradients of layers: norms, convolutions, pooling, lookups, losses of classes.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values, int, ints};
use super::super::target::Target;
use super::conv::per_dimension;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let gradient: fn(&mut NodeLowering) -> Converted = match (target.name, target.overload) {
        ("native_layer_norm_backward", "") => layer_norm,
        ("convolution_backward", "") => convolution,
        ("avg_pool2d_backward", "") => average_pool,
        ("_adaptive_avg_pool2d_backward", "") => whole_average,
        ("embedding_dense_backward", "") => embedding,
        ("nll_loss_backward" | "nll_loss2d_backward", "") => likelihood,
        ("slice_backward", "") => slice,
        ("select_backward", "") => select,
        ("native_dropout_backward", "") => dropout,
        _ => return Ok(None),
    };
    let narrow = (0..site.output_names().count()).map(|slot| site.stated(slot).map(|ty| ty.dtype));
    let dtypes = narrow.collect::<Result<Vec<_>, _>>()?;
    let moves = matches!(target.name, "slice_backward" | "select_backward");
    if moves || dtypes.iter().all(|dtype| matches!(dtype, DType::F32 | DType::F64)) {
        return gradient(site);
    }
    Ok(None)
}

/// Which gradients are asked for.
fn asked(site: &NodeLowering, count: usize) -> Result<Option<Vec<bool>>, Refusal> {
    let Some(mask) = site.bools("output_mask")? else { return Ok(None) };
    let given = site.output_names().count();
    Ok((mask.len() == count && mask.iter().filter(|&&asked| asked).count() == given).then_some(mask))
}

/// `r (w g - mean(w g) - n mean(w g n))` with `n = r (x - m)` for the input, and sums of `g n` and `g` for weight and bias.
fn layer_norm(site: &mut NodeLowering) -> Converted {
    let Some(asked) = asked(site, 3)? else { return Ok(None) };
    let (g, x) = (site.tensor("grad_out")?, site.tensor("input")?);
    let (mean, scale) = (site.tensor("mean")?, site.tensor("rstd")?);
    let (rank, own) = (site.rank(x), site.ints("normalized_shape")?.len());
    if own > rank || [g, mean, scale].into_iter().any(|v| site.dtype(v) != site.dtype(x)) {
        return Ok(None);
    }
    let centred = site.implicit("centred", "sub", &[], &[x, mean])?;
    let normal = site.implicit("normal", "mul", &[], &[centred, scale])?;
    let mut gradients = Values::new();
    if asked[0] {
        let weighed = match site.maybe_tensor("weight")? {
            Some(weight) => site.implicit("weighed", "mul", &[], &[g, weight])?,
            None => g,
        };
        let row = row_attrs(rank - own..rank, true);
        let average = site.implicit("average", "mean", &row, &[weighed])?;
        let product = site.implicit("product", "mul", &[], &[weighed, normal])?;
        let slope = site.implicit("slope", "mean", &row, &[product])?;
        let part = site.implicit("part", "mul", &[], &[normal, slope])?;
        let rest = site.implicit("rest", "sub", &[], &[weighed, average])?;
        let rest = site.implicit("rest", "sub", &[], &[rest, part])?;
        let Some(gradient) = site.emit_fused("mul", &[], &[rest, scale])? else { return Ok(None) };
        gradients.extend(gradient);
    }
    let batch = row_attrs(0..rank - own, false);
    if asked[1] {
        let product = site.implicit("product", "mul", &[], &[g, normal])?;
        gradients.push(site.step("sum", &batch, &[product])?);
    }
    if asked[2] {
        gradients.push(site.step("sum", &batch, &[g])?);
    }
    Ok(Some(gradients))
}

fn row_attrs(dims: std::ops::Range<usize>, keepdim: bool) -> [(&'static str, AttrValue); 2] {
    let dims: Vec<i64> = dims.map(|d| d as i64).collect();
    [("dim", ints(&dims)), ("keepdim", AttrValue::Bool(keepdim))]
}

/// How a filter moves along the dimensions of space.
struct Window<'a> {
    kernel: &'a [i64],
    stride: &'a [i64],
    padding: &'a [i64],
    dilation: &'a [i64],
}

impl Window<'_> {
    /// The places at the end of an input of these `sizes`, with its padding, that no filter of so many reaches: fewer than a step
    /// along each dimension. `None` where the numbers do not fit each other.
    fn left_over(&self, sizes: &[i64], filters: &[i64]) -> Option<Vec<i64>> {
        let lists = [self.kernel, self.stride, self.padding, self.dilation, filters];
        if lists.iter().any(|list| list.len() != sizes.len()) {
            return None;
        }
        let left_along = |d: usize| {
            let [kernel, stride, padding, dilation, filters] = lists.map(|list| i128::from(list[d]));
            let left = i128::from(sizes[d]) + 2 * padding - dilation * (kernel - 1) - 1 - (filters - 1) * stride;
            i64::try_from(left).ok().filter(|_| padding >= 0 && dilation >= 1 && (0..stride).contains(&left))
        };
        (0..sizes.len()).map(left_along).collect()
    }
}

/// A transposed convolution for the input, one of input and gradient over the batch for the weight, a sum for the bias.
fn convolution(site: &mut NodeLowering) -> Converted {
    let Some(asked) = asked(site, 3)? else { return Ok(None) };
    let (g, x, w) = (site.tensor("grad_output")?, site.tensor("input")?, site.tensor("weight")?);
    let spatial = site.rank(x).saturating_sub(2);
    if !(1..=3).contains(&spatial) || site.rank(w) != spatial + 2 || site.bool_or("transposed", false)? {
        return Ok(None);
    }
    let [stride, padding, dilation] = [("stride", 1), ("padding", 0), ("dilation", 1)]
        .map(|(name, default)| per_dimension(site, name, spatial, default));
    let (stride, padding, dilation, groups) = (stride?, padding?, dilation?, site.int_or("groups", 1)?);
    let sizes = |v: Value| site.ty(v).shape.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let (of_g, of_x, of_w) = (sizes(g), sizes(x), sizes(w));
    let window = Window { kernel: &of_w[2..], stride: &stride, padding: &padding, dilation: &dilation };
    let left = (of_g.len() == of_x.len()).then(|| window.left_over(&of_x[2..], &of_g[2..])).flatten();
    let Some(left) = left.filter(|_| groups >= 1 && of_x[1] % groups == 0) else { return Ok(None) };
    let mut gradients = Values::new();
    if asked[0] {
        let attrs = [
            ("stride", ints(&stride)),
            ("padding", ints(&padding)),
            ("output_padding", ints(&left)),
            ("dilation", ints(&dilation)),
            ("groups", int(groups)),
        ];
        let op = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"][spatial - 1];
        let Some(gradient) = site.emit_fused(op, &attrs, &[g, w])? else { return Ok(None) };
        gradients.extend(gradient);
    }
    if asked[1] {
        let (batch, channels) = (of_x[0], of_x[1]);
        let shape = |front: &[i64]| -> Vec<i64> { front.iter().chain(&of_x[2..]).copied().collect() };
        let dims = |front: &[i64]| -> Vec<i64> {
            let behind = front.len() as i64..(front.len() + spatial) as i64;
            front.iter().copied().chain(behind).collect()
        };
        // The channels of a group become a batch, and the batch its channels.
        let grouped = shape(&[batch, groups, channels / groups]);
        let grouped = site.implicit("grouped", "reshape", &[("shape", ints(&grouped))], &[x])?;
        let turned = site.implicit("turned", "permute", &[("dims", ints(&dims(&[2, 1, 0])))], &[grouped])?;
        let joined = shape(&[channels / groups, groups * batch]);
        let turned = site.implicit("turned", "reshape", &[("shape", ints(&joined))], &[turned])?;
        let filters = site.implicit("filters", "permute", &[("dims", ints(&dims(&[1, 0])))], &[g])?;
        let attrs = [
            ("stride", ints(&dilation)),
            ("padding", ints(&padding)),
            ("dilation", ints(&stride)),
            ("groups", int(groups)),
        ];
        let op = ["conv1d", "conv2d", "conv3d"][spatial - 1];
        let mut gradient = site.step(op, &attrs, &[turned, filters])?;
        for d in 0..spatial {
            let part = [("dim", int(d as i64 + 2)), ("start", int(0)), ("end", int(of_w[d + 2]))];
            if left[d] > 0 {
                gradient = site.implicit("part", "slice", &part, &[gradient])?;
            }
        }
        gradients.push(site.implicit("gradient", "permute", &[("dims", ints(&dims(&[1, 0])))], &[gradient])?);
    }
    if asked[2] {
        let others: Vec<i64> = (0..spatial as i64 + 2).filter(|&d| d != 1).collect();
        gradients.push(site.step("sum", &[("dim", ints(&others))], &[g])?);
    }
    Ok(Some(gradients))
}

/// Each element of a mean gets its share: a transposed convolution of each channel.
fn average_pool(site: &mut NodeLowering) -> Converted {
    let (g, x) = (site.tensor("grad_output")?, site.tensor("self")?);
    let (rank, dtype) = (site.rank(x), site.dtype(x));
    let kernel = per_dimension(site, "kernel_size", 2, 1)?;
    let padding = per_dimension(site, "padding", 2, 0)?;
    let stride = match site.maybe_ints("stride")?.as_deref() {
        None | Some([]) => kernel.clone(),
        Some(_) => per_dimension(site, "stride", 2, 1)?,
    };
    let counts_padding = site.bool_or("count_include_pad", true)? || padding == [0, 0];
    if rank != 4 || site.bool_or("ceil_mode", false)? || !counts_padding {
        return Ok(None);
    }
    let sizes = |v: Value| site.ty(v).shape.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let (of_g, of_x) = (sizes(g), sizes(x));
    let window = Window { kernel: &kernel, stride: &stride, padding: &padding, dilation: &[1, 1] };
    let left = (of_g.len() == 4).then(|| window.left_over(&of_x[2..], &of_g[2..])).flatten();
    let all = kernel.iter().try_fold(1_i64, |all, &n| all.checked_mul(n));
    let (Some(left), Some(all)) = (left, all) else { return Ok(None) };
    let (channels, count) = (of_x[1], site.maybe_int("divisor_override")?.unwrap_or(all));
    let attrs = [
        ("shape", ints(&[channels, 1, kernel[0], kernel[1]])),
        ("value", AttrValue::float(1.0 / count as f64)),
        ("dtype", AttrValue::DType(dtype)),
    ];
    let share = site.implicit("share", "full", &attrs, &[])?;
    let attrs = [
        ("stride", ints(&stride)),
        ("padding", ints(&padding)),
        ("output_padding", ints(&left)),
        ("dilation", ints(&[1, 1])),
        ("groups", int(channels)),
    ];
    site.emit_fused("conv_transpose2d", &attrs, &[g, share])
}

/// The mean of whole channels.
fn whole_average(site: &mut NodeLowering) -> Converted {
    let (g, x) = (site.tensor("grad_output")?, site.tensor("self")?);
    let (of_g, of_x) = (site.ty(g).shape, site.ty(x).shape);
    if of_x.len() < 2 || of_g.iter().rev().take(2).any(|&n| n != 1) {
        return Ok(None);
    }
    let count: usize = of_x.iter().rev().take(2).product();
    let count = site.literal("count", Scalar::Float(count as f64), site.dtype(x))?;
    let all = site.implicit("all", "expand", &[("shape", AttrValue::shape(&of_x))], &[g])?;
    site.emit_fused("div", &[], &[all, count])
}

/// Rows are added where they were looked up.
fn embedding(site: &mut NodeLowering) -> Converted {
    let (g, places) = (site.tensor("grad_output")?, site.tensor("indices")?);
    if site.bool_or("scale_grad_by_freq", false)? {
        return Ok(None);
    }
    let (count, ty) = (site.ty(places).numel() as i64, site.stated(0)?);
    let features = *ty.shape.last().ok_or_else(|| Refusal::new("needs a matrix of weights"))? as i64;
    let mut rows = site.implicit("rows", "reshape", &[("shape", ints(&[count, features]))], &[g])?;
    let places = site.implicit("places", "reshape", &[("shape", ints(&[count]))], &[places])?;
    let padding = site.int_or("padding_idx", -1)?;
    let zero = [
        ("shape", AttrValue::shape(&ty.shape)),
        ("value", AttrValue::float(0.0)),
        ("dtype", AttrValue::DType(ty.dtype)),
    ];
    if padding >= 0 {
        let (padding, nothing) = (
            site.literal("padding", Scalar::Int(padding), site.dtype(places))?,
            site.literal("nothing", Scalar::Float(0.0), ty.dtype)?,
        );
        let pads = site.implicit("pads", "eq", &[], &[places, padding])?;
        let pads = site.implicit("pads", "unsqueeze", &[("dim", int(1))], &[pads])?;
        rows = site.implicit("rows", "where", &[], &[pads, nothing, rows])?;
    }
    let zeros = site.implicit("zeros", "full", &zero, &[])?;
    site.emit_fused("index_add", &[("dim", int(0))], &[zeros, places, rows])
}

/// Less the weight of each target at its place, as a share of all where their mean is taken.
fn likelihood(site: &mut NodeLowering) -> Converted {
    let (g, scores, target) = (site.tensor("grad_output")?, site.tensor("self")?, site.tensor("target")?);
    let (dtype, rank) = (site.dtype(scores), site.rank(scores));
    if rank == 0 || site.rank(target) + 1 != rank || site.dtype(target) != DType::I64 {
        return Ok(None);
    }
    let class = [("dim", int(i64::from(rank > 1)))];
    let ignored = site.literal("ignored", Scalar::Int(site.int_or("ignore_index", -100)?), DType::I64)?;
    let nothing = site.literal("nothing", Scalar::Int(0), DType::I64)?;
    let zero = site.literal("zero", Scalar::Float(0.0), dtype)?;
    let counts = site.implicit("counts", "ne", &[], &[target, ignored])?;
    let safe = site.implicit("safe", "where", &[], &[counts, target, nothing])?;
    let mut slope = site.implicit("slope", "neg", &[], &[g])?;
    if let Some(weight) = site.maybe_tensor("weight")? {
        let weights = site.implicit("weights", "index", &[("dims", ints(&[0]))], &[weight, safe])?;
        slope = site.implicit("slope", "mul", &[], &[slope, weights])?;
    }
    if site.int_or("reduction", 1)? == 1 {
        let total = site.tensor("total_weight")?;
        slope = site.implicit("slope", "div", &[], &[slope, total])?;
    }
    let slope = site.implicit("slope", "where", &[], &[counts, slope, zero])?;
    let slope = site.implicit("slope", "unsqueeze", &class, &[slope])?;
    let places = site.implicit("places", "unsqueeze", &class, &[safe])?;
    let attrs = [
        ("shape", AttrValue::shape(&site.ty(scores).shape)),
        ("value", AttrValue::float(0.0)),
        ("dtype", AttrValue::DType(dtype)),
    ];
    let zeros = site.implicit("zeros", "full", &attrs, &[])?;
    site.emit("scatter_add", &class, &[zeros, places, slope])
}

/// Zeros around what was taken of a dimension.
fn slice(site: &mut NodeLowering) -> Converted {
    let g = site.tensor("grad_output")?;
    let sizes = site.ints("input_sizes")?;
    let dim = site.int_or("dim", 0)?;
    let dim = if dim < 0 { dim.saturating_add(sizes.len() as i64) } else { dim };
    let Some(&size) = usize::try_from(dim).ok().and_then(|d| sizes.get(d)) else { return Ok(None) };
    let start = site.int_or("start", 0)?;
    let start = if start < 0 { start.saturating_add(size) } else { start }.clamp(0, size.max(0));
    if site.int_or("step", 1)? != 1 {
        return Ok(None);
    }
    padded(site, g, dim as usize, start, &sizes)
}

/// Zeros around one place of a dimension.
fn select(site: &mut NodeLowering) -> Converted {
    let g = site.tensor("grad_output")?;
    let sizes = site.ints("input_sizes")?;
    let (dim, index) = (site.int("dim")?, site.int("index")?);
    let dim = if dim < 0 { dim.saturating_add(sizes.len() as i64) } else { dim };
    let Some(&size) = usize::try_from(dim).ok().and_then(|d| sizes.get(d)) else { return Ok(None) };
    let one = site.implicit("one", "unsqueeze", &[("dim", int(dim))], &[g])?;
    padded(site, one, dim as usize, if index < 0 { index.saturating_add(size) } else { index }, &sizes)
}

fn padded(site: &mut NodeLowering, part: Value, dim: usize, start: i64, sizes: &[i64]) -> Converted {
    let own = site.ty(part).shape.get(dim).map_or(0, |&n| n as i64);
    let behind = sizes[dim].checked_sub(start).and_then(|rest| rest.checked_sub(own)).filter(|&behind| behind >= 0);
    let Some(behind) = behind.filter(|_| start >= 0) else { return Ok(None) };
    let mut pad = vec![0; 2 * sizes.len()];
    (pad[2 * dim], pad[2 * dim + 1]) = (start, behind);
    site.emit("pad", &[("pad", ints(&pad))], &[part])
}

fn dropout(site: &mut NodeLowering) -> Converted {
    let (g, mask) = (site.tensor("grad_output")?, site.tensor("mask")?);
    let dtype = site.dtype(g);
    let mask = site.cast("mask", mask, dtype)?;
    let scale = site.literal("scale", Scalar::Float(site.float_or("scale", 1.0)?), dtype)?;
    let kept = site.implicit("kept", "mul", &[], &[g, mask])?;
    site.emit("mul", &[], &[kept, scale])
}

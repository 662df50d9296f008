//! Which operands could give a wanted result, for operators that move windows over images or treat channels apart.

use super::operand_synthesis::{OperandSynthesis, tensor};
use super::random::Random;
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};

/// The attribute `name` with a number for each spatial dim: as it is fixed, or drawn.
fn numbers(
    w: &mut OperandSynthesis<'_, '_>,
    name: &str,
    count: usize,
    draw: impl Fn(&mut Random) -> i64,
) -> Option<Ints> {
    numbers_by_dim(w, name, count, |_, random| draw(random))
}

/// The same, where what is drawn depends on the dim.
fn numbers_by_dim(
    w: &mut OperandSynthesis<'_, '_>,
    name: &str,
    count: usize,
    draw: impl Fn(usize, &mut Random) -> i64,
) -> Option<Ints> {
    let numbers: Ints = match w.fixed(name, None) {
        Some(AttrValue::Ints(numbers)) => numbers,
        _ => (0..count).map(|d| w.generator.count(|random| draw(d, random))).collect(),
    };
    w.set(name, 0, AttrValue::Ints(numbers.clone()))?;
    (numbers.len() == count).then_some(numbers)
}

fn a_stride(random: &mut Random) -> i64 {
    [1, 1, 1, 2, 3][random.below(5)]
}

fn a_dilation(random: &mut Random) -> i64 {
    [1, 1, 1, 2][random.below(4)]
}

/// The size of a dim along which `windows` windows fit, a few cells to spare among them.
fn input(windows: usize, kernel: i64, stride: i64, padding: i64, dilation: i64, random: &mut Random) -> Option<usize> {
    let spare = random.below(usize::try_from(stride).ok()?.max(1)) as i64;
    let span = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
    let covered = (windows as i64).checked_sub(1)?.checked_mul(stride)?.checked_add(span)?;
    usize::try_from(covered.checked_sub(padding.checked_mul(2)?)?.checked_add(spare)?).ok().filter(|&size| size > 0)
}

/// Operands of a convolution over `spatial` dims.
pub(super) fn convolution(w: &mut OperandSynthesis<'_, '_>, spatial: usize) -> Option<Vec<TensorType>> {
    if w.ty.rank() != spatial + 2 || !w.ty.dtype.is_float() {
        return None;
    }
    let (batch, out) = (w.ty.shape[0], w.ty.shape[1]);
    let known = |n: usize| w.known[n].as_ref().filter(|t| t.rank() == spatial + 2).map(|t| t.shape.clone());
    let (x, kernels) = (known(0), known(1));
    let of_both = || x.as_ref()?[1].checked_div(kernels.as_ref()?[1]);
    let groups = match w.fixed("groups", None).and_then(|g| g.as_int()) {
        Some(groups) => usize::try_from(groups).ok().filter(|&g| g > 0)?,
        None => of_both().unwrap_or_else(|| match w.generator.random.below(3) {
            0 => out.max(1),
            1 if out.is_multiple_of(2) => 2,
            _ => 1,
        }),
    };
    w.set("groups", 0, AttrValue::Int(groups as i64))?;
    let fresh = w.generator.size().min(3);
    let per_group = match (&x, &kernels) {
        (_, Some(kernels)) => kernels[1],
        (Some(x), None) => x[1] / groups,
        (None, None) => fresh,
    };
    let kernel: Ints = match &kernels {
        Some(kernels) => kernels[2..].iter().map(|&d| d as i64).collect(),
        None => (0..spatial).map(|_| 1 + w.generator.random.below(3) as i64).collect(),
    };
    let stride = numbers(w, "stride", spatial, a_stride)?;
    let padding = numbers(w, "padding", spatial, |random| [0, 0, 1, 2][random.below(4)])?;
    let dilation = numbers(w, "dilation", spatial, a_dilation)?;
    let dtype = w.ty.dtype;
    let mut image = Shape::from_slice(&[batch, per_group * groups]);
    for d in 0..spatial {
        let windows = w.ty.shape[2 + d];
        image.push(input(windows, kernel[d], stride[d], padding[d], dilation[d], &mut w.generator.random)?);
    }
    let mut weight = Shape::from_slice(&[out, per_group]);
    weight.extend(kernel.iter().map(|&k| k as usize));
    let mut types = vec![tensor(dtype, x.unwrap_or(image)), tensor(dtype, weight)];
    if w.known.len() > 2 {
        types.push(tensor(dtype, Shape::from_slice(&[out])));
    }
    Some(types)
}

/// The operand of a pooling operator over images.
pub(super) fn pooling(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    const SPATIAL: usize = 2;
    if w.ty.rank() != SPATIAL + 2 || !w.ty.dtype.is_float() {
        return None;
    }
    let kernel = numbers(w, "kernel_size", SPATIAL, |random| 1 + random.below(3) as i64)?;
    let stride = numbers(w, "stride", SPATIAL, a_stride)?;
    // No more than half a window may lie in the padding.
    let most: Vec<usize> = kernel.iter().map(|&k| usize::try_from(k / 2)).collect::<Result<_, _>>().ok()?;
    let padding = numbers_by_dim(w, "padding", SPATIAL, |d, random| random.below(most[d] + 1) as i64)?;
    let dilation = if w.op.attr_index("dilation").is_some() {
        // Dilated windows can lie in the padding as a whole.
        numbers(w, "dilation", SPATIAL, |random| 1 + random.below(2) as i64)?
    } else {
        Ints::from_slice(&[1; SPATIAL])
    };
    let mut image = Shape::from_slice(&w.ty.shape[..2]);
    for d in 0..SPATIAL {
        let windows = w.ty.shape[2 + d];
        image.push(input(windows, kernel[d], stride[d], padding[d], dilation[d], &mut w.generator.random)?);
    }
    let image = tensor(w.ty.dtype, image);
    Some(vec![w.known[0].clone().unwrap_or(image)])
}

/// Operands of a normalisation with parameters for each channel, which may be `wide`r than a narrow image.
pub(super) fn by_channel(w: &mut OperandSynthesis<'_, '_>, wide: bool) -> Option<Vec<TensorType>> {
    let channels = *w.ty.shape.get(1)?;
    if w.op.attr_index("groups").is_some() {
        let groups = match w.fixed("groups", None).and_then(|g| g.as_int()) {
            Some(groups) => groups,
            None => {
                let divisors: Vec<i64> = (1..=channels as i64).filter(|g| (channels as i64) % g == 0).collect();
                w.generator.random.pick(&divisors)?
            }
        };
        w.set("groups", 0, AttrValue::Int(groups))?;
    }
    let narrow = matches!(w.ty.dtype, DType::F16 | DType::BF16) && wide;
    let dtype = if narrow && w.generator.random.chance(30) { DType::F32 } else { w.ty.dtype };
    let parameter = tensor(dtype, Shape::from_slice(&[channels]));
    let mut types = vec![w.ty.clone()];
    types.resize(w.known.len(), parameter);
    Some(types)
}

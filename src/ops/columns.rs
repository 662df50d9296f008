//! Windows of images as columns, and back.

use smallvec::smallvec;

use super::conv::{Axis, axis, check_lengths};
use super::{
    AttrDef, AttrKind, Call, Default, Digit, Digits, Elements, EvalError, Family, Fetch, Kernel, KernelClass, Moved,
    Movement, OpDef, Renumbering, TypeError, Types, Unit, Work, attr, one,
};
use crate::ir::{Number, Shape, TensorType};

const WINDOW: [AttrDef; 4] = [
    attr("kernel_size", AttrKind::Ints, Default::Required),
    attr("dilation", AttrKind::Ints, Default::Required),
    attr("padding", AttrKind::Ints, Default::Required),
    attr("stride", AttrKind::Ints, Default::Required),
];
/// Windows along one dimension that are tried for one element: more than this, and the budget would not see them.
const MAX_WINDOWS: usize = 1 << 16;

const FROM_COLUMNS: [AttrDef; 5] =
    [attr("output_size", AttrKind::Ints, Default::Required), WINDOW[0], WINDOW[1], WINDOW[2], WINDOW[3]];

/// Sizes of the image: of the operand, or of the result.
fn image(c: &Call) -> Option<[usize; 2]> {
    match c.op.attr_index("output_size") {
        Some(_) => match c.ints("output_size") {
            [h, w] => Some([usize::try_from(*h).ok()?, usize::try_from(*w).ok()?]),
            _ => None,
        },
        None => Some([c.operands[0].shape[2], c.operands[0].shape[3]]),
    }
}

/// The windows along height and width, and how many they are.
fn windows(c: &Call) -> Result<[(Axis, usize); 2], TypeError> {
    check_lengths(c, &["kernel_size", "dilation", "padding", "stride"], 2)?;
    let wrong = || c.error(format!("fits no window of {:?} into {}", c.ints("kernel_size"), c.operands[0]));
    let image = image(c).ok_or_else(wrong)?;
    let along = |d: usize| {
        let axis = Axis { input: image[d], ..axis(c, d, c.ints("kernel_size")[d]) };
        axis.windows(false).filter(|_| image[d] > 0).map(|count| (axis, count)).ok_or_else(wrong)
    };
    Ok([along(0)?, along(1)?])
}

fn taps(c: &Call) -> [usize; 2] {
    [0, 1].map(|d| c.ints("kernel_size").get(d).and_then(|&k| usize::try_from(k).ok()).unwrap_or(0))
}

fn columns_types(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let x = c.operands[0];
    if x.rank() != 4 || x.numel() == 0 {
        return Err(c.error(format!("takes non-empty images, not {x}")));
    }
    let [(_, rows), (_, columns)] = windows(c)?;
    let [h, w] = taps(c);
    let large = || c.error("is too large");
    let height = h.checked_mul(w).and_then(|n| n.checked_mul(x.shape[1])).ok_or_else(large)?;
    c.output(x.dtype, [x.shape[0], height, rows.checked_mul(columns).ok_or_else(large)?].into_iter().collect::<Shape>())
}

fn column_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let Ok([(rows, _), (columns, across)]) = windows(c) else { return Err(EvalError::IndexOutOfRange) };
    let [h, w] = taps(c);
    let (channel, row, column) = (index[1] / (h * w), index[1] / w % h, index[1] % w);
    let (down, right) = (index[2] / across, index[2] % across);
    if !rows.taps(down).contains(&row) || !columns.taps(right).contains(&column) {
        return Ok(Number::ZERO);
    }
    fetch(0, &[index[0], channel, rows.cell(down, row), columns.cell(right, column)])
}

fn image_types(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let x = c.operands[0];
    if x.rank() != 3 || x.numel() == 0 {
        return Err(c.error(format!("takes non-empty columns, not {x}")));
    }
    check_lengths(c, &["output_size"], 2)?;
    let [(rows, down), (columns, across)] = windows(c)?;
    let [h, w] = taps(c);
    let each = h.checked_mul(w).filter(|&each| each > 0 && x.shape[1].is_multiple_of(each));
    match each {
        Some(each) if down.checked_mul(across) == Some(x.shape[2]) => {
            c.output(x.dtype, [x.shape[0], x.shape[1] / each, rows.input, columns.input].into_iter().collect::<Shape>())
        }
        _ => Err(c.error(format!("has {down} times {across} windows, not {x}"))),
    }
}

/// The taps of every window that lie on cell `at`, with the number of their window.
fn covering(axis: Axis, windows: usize, at: usize) -> Result<Vec<(usize, usize)>, EvalError> {
    if windows > MAX_WINDOWS {
        return Err(EvalError::Budget);
    }
    let tap = |window: usize| {
        let (first, dilation) = (axis.first(window), i128::from(axis.dilation));
        let (taps, rest) = ((at as i128 - first).div_euclid(dilation), (at as i128 - first).rem_euclid(dilation));
        let inside = rest == 0 && (0..i128::from(axis.kernel)).contains(&taps);
        inside.then_some((window, taps as usize))
    };
    Ok((0..windows).filter_map(tap).collect())
}

fn image_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let Ok([(rows, down), (columns, across)]) = windows(c) else { return Err(EvalError::IndexOutOfRange) };
    let [h, w] = taps(c);
    let over = covering(columns, across, index[3])?;
    let mut sum = Number::ZERO;
    for (row, top) in covering(rows, down, index[2])? {
        for &(column, left) in &over {
            let at = [index[0], (index[1] * h + top) * w + left, row * across + column];
            sum = sum + fetch(0, &at)?;
        }
    }
    Ok(sum)
}

fn column_digits(r: &Renumbering) -> Option<Digits> {
    match r.dim() {
        _ if r.call.operands.first()?.rank() != 4 => None,
        0 => Some(r.same()),
        // Each channel gives the cells of its window.
        1 => r.multiplied(usize::try_from(r.call.ints("kernel_size").iter().product::<i64>()).ok()?, false),
        _ => None,
    }
}

fn image_digits(r: &Renumbering) -> Option<Digits> {
    let cells = usize::try_from(r.call.ints("kernel_size").iter().product::<i64>()).ok()?;
    match r.dim() {
        0 => Some(r.same()),
        // The cells of a channel's windows stand one after the other.
        1 => Some(smallvec![Some(Digit { step: r.digit.step.checked_mul(cells)?, ..r.digit })]),
        _ => None,
    }
}

/// What both operators have in common.
const COLUMNS: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Window,
    operands: &[one("x")],
    attrs: &WINDOW,
    infer: columns_types,
    work: |c, outputs: &[TensorType]| {
        Work::streaming(c, outputs, outputs.iter().map(|t| t.numel() as f64).sum(), Unit::Vector)
    },
    ..OpDef::PLAIN
};

/// These table entries of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "im2col",
        elements: Elements::Moved(Moved::All, Movement::Padded),
        digits: column_digits,
        doc: "The windows of images (batch, channel, height, width) as columns: (batch, channel and tap, window).",
        kernel: Kernel::Element(column_element),
        aten: aten!("im2col", self: X, kernel_size, dilation, padding, stride),
        replay: torch!(|r| r.x()?.f_im2col(
            r.c.ints("kernel_size"),
            r.c.ints("dilation"),
            r.c.ints("padding"),
            r.c.ints("stride")
        )?),
        ..COLUMNS
    },
    OpDef {
        name: "col2im",
        elements: Elements::Weighted(Moved::All),
        digits: image_digits,
        doc: "Images of the size `output_size` with the columns of `im2col` added where they come from.",
        attrs: &FROM_COLUMNS,
        infer: image_types,
        kernel: Kernel::Ordered(image_element),
        aten: aten!("col2im", self: X, output_size, kernel_size, dilation, padding, stride),
        replay: torch!(|r| r.x()?.f_col2im(
            r.c.ints("output_size"),
            r.c.ints("kernel_size"),
            r.c.ints("dilation"),
            r.c.ints("padding"),
            r.c.ints("stride")
        )?),
        ..COLUMNS
    },
];

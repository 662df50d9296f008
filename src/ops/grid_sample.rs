//! Images read at places that another tensor holds.

use super::aten::{Arg, Calls, Stated, Tensor, single};
use super::{
    AttrKind, Call, Default, EvalError, Family, FetchReal, Kernel, KernelClass, OpDef, TypeError, Types, Unit, Work,
    attr, one,
};
use crate::ir::{DType, Shape, TensorType};

/// The parameter of PyTorch's cubic curve.
const CUBIC: f64 = -0.75;

/// How a value between elements is found, in the order of PyTorch's numbers for them.
pub(crate) const MODES: [&str; 3] = ["bilinear", "nearest", "bicubic"];

/// What stands beyond the edges, in the order of PyTorch's numbers for it.
pub(crate) const PADDINGS: [&str; 3] = ["zeros", "border", "reflection"];

/// PyTorch's number of the text attribute `name` among `all`.
fn code(c: &Call, name: &str, all: [&str; 3]) -> i64 {
    all.iter().position(|known| *known == c.str(name)).unwrap_or_default() as i64
}

fn sampled(c: &Call) -> Result<Types, TypeError> {
    let (x, grid) = (c.operands[0], c.operands[1]);
    let fits = x.rank() == 4 && grid.rank() == 4 && x.shape[0] == grid.shape[0] && grid.shape[3] == 2;
    // Narrower types compute places in a precision of their own, on each device another one.
    let float = matches!(x.dtype, DType::F32 | DType::F64) && grid.dtype == x.dtype;
    let known = MODES.contains(&c.str("mode")) && PADDINGS.contains(&c.str("padding"));
    if !fits || !float || !known || x.shape[2..].contains(&0) {
        return Err(c.error(format!("cannot read {x} at {grid}")));
    }
    c.output(x.dtype, Shape::from_slice(&[x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]]))
}

/// The place among `size` elements that a coordinate from -1 to 1 means.
fn place(coordinate: f64, size: usize, corners: bool) -> f64 {
    let size = size as f64;
    if corners { (coordinate + 1.0) / 2.0 * (size - 1.0) } else { ((coordinate + 1.0) * size - 1.0) / 2.0 }
}

/// As [`place`], in the single precision that decides for f32 which element is the nearest.
fn place_f32(coordinate: f64, size: usize, corners: bool) -> f64 {
    let (coordinate, size) = (coordinate as f32, size as f32);
    f64::from(if corners { (coordinate + 1.0) / 2.0 * (size - 1.0) } else { ((coordinate + 1.0) * size - 1.0) / 2.0 })
}

/// The place inside that stands for one beyond the edges; with zeros around, itself.
fn inside(place: f64, size: usize, padding: &str, corners: bool) -> f64 {
    let last = (size - 1) as f64;
    match padding {
        "zeros" => place,
        "border" => place.clamp(0.0, last),
        _ => {
            // Mirrors stand at the outermost elements, or at their outer edges.
            let (low, span) = if corners { (0.0, last) } else { (-0.5, size as f64) };
            if span == 0.0 {
                return 0.0;
            }
            let (flips, extra) = (((place - low).abs() / span).floor(), (place - low).abs() % span);
            let mirrored = if flips % 2.0 == 0.0 { extra + low } else { span - extra + low };
            mirrored.clamp(0.0, last)
        }
    }
}

/// The weights of the four elements around a place, the second of them in front of it by `t`.
fn cubic(t: f64) -> [f64; 4] {
    let near = |x: f64| ((CUBIC + 2.0) * x - (CUBIC + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((CUBIC * x - 5.0 * CUBIC) * x + 8.0 * CUBIC) * x - 4.0 * CUBIC;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

fn element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (x, corners) = (c.operands[0], c.bool("align_corners"));
    let (mode, padding) = (c.str("mode"), c.str("padding"));
    // Height and width; the grid holds x before y.
    let mut places = [0.0; 2];
    for (d, found) in places.iter_mut().enumerate() {
        let at = fetch(1, &[index[0], index[2], index[3], 1 - d])?;
        let size = x.shape[2 + d];
        // PyTorch turns places into 32-bit integers.
        let at = match mode == "nearest" && x.dtype == DType::F32 {
            true => place_f32(at, size, corners),
            false => place(at, size, corners),
        };
        if at.is_nan() || at.abs() >= f64::from(i32::MAX) {
            return Err(EvalError::NoSemantics("a place that no integer holds".into()));
        }
        *found = if mode == "bicubic" { at } else { inside(at, size, padding, corners) };
    }
    let mut at = |row: f64, column: f64| -> Result<f64, EvalError> {
        let cell = [row, column].into_iter().zip(&x.shape[2..]).map(|(at, &size)| {
            let at = if mode == "bicubic" { inside(at, size, padding, corners) } else { at };
            (0.0..size as f64).contains(&at).then_some(at as usize)
        });
        match cell.collect::<Option<Vec<usize>>>() {
            Some(cell) => fetch(0, &[index[0], index[1], cell[0], cell[1]]),
            None => Ok(0.0),
        }
    };
    let [row, column] = places;
    if mode == "nearest" {
        return at(row.round_ties_even(), column.round_ties_even());
    }
    let taps = |place: f64| -> Vec<(f64, f64)> {
        let (first, t) = (place.floor(), place - place.floor());
        match mode {
            "bilinear" => vec![(first, 1.0 - t), (first + 1.0, t)],
            _ => cubic(t).into_iter().zip(-1..).map(|(weight, i)| (first + f64::from(i), weight)).collect(),
        }
    };
    let mut sum = 0.0;
    for (i, vertical) in taps(row) {
        for (j, horizontal) in taps(column) {
            sum += vertical * horizontal * at(i, j)?;
        }
    }
    Ok(sum)
}

fn work(c: &Call, outputs: &[TensorType]) -> Work {
    let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
    let each = if c.str("mode") == "bicubic" { 48.0 } else { 16.0 };
    Work::streaming(c, outputs, each * elements, Unit::Vector)
}

/// The call of PyTorch, which numbers the modes.
fn grid_sample_call(c: &mut Calls) -> Stated {
    let code = |name, all| Arg::Int(code(c.c, name, all));
    let [mode, padding] = [code("mode", MODES), code("padding", PADDINGS)];
    let positional = [
        ("input", c.x()),
        ("grid", Tensor::Operand(1).into()),
        ("interpolation_mode", mode),
        ("padding_mode", padding),
        ("align_corners", c.attr("align_corners")),
    ];
    let result = c.result();
    single(c.one("grid_sampler_2d", &positional, &[], result))
}

/// This table entry of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[OpDef {
    name: "grid_sample",
    doc: "Images (batch, channel, height, width) at the places that `grid` (batch, rows, columns, 2) holds, from -1 at the left and upper \
          end to 1 at the other: `mode` is \"bilinear\", \"nearest\" or \"bicubic\", `padding` beyond the edges \"zeros\", \"border\" or \
          \"reflection\"; `align_corners` puts -1 and 1 at the middle of the outermost elements.",
    family: Family::Conv,
    kernels: KernelClass::Window,
    operands: &[one("x"), one("grid")],
    attrs: &[
        attr("mode", AttrKind::Str, Default::Str("bilinear")),
        attr("padding", AttrKind::Str, Default::Str("zeros")),
        attr("align_corners", AttrKind::Bool, Default::Bool(false)),
    ],
    infer: sampled,
    kernel: Kernel::Real(element),
    work,
    aten: aten!(|c| grid_sample_call(c)),
    replay: torch!(|r| r.x()?.f_grid_sampler_2d(
        r.operand(1)?,
        code(r.c, "mode", MODES),
        code(r.c, "padding", PADDINGS),
        r.c.bool("align_corners")
    )?),
    ..OpDef::PLAIN
}];

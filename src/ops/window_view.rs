//! Views of diagonals and of overlapping windows.

use super::{
    AttrKind, Bounds, Call, Default, Elements, Family, Kernel, LayoutRule, Moved, Movement, OpDef, TypeError, Types,
    Work, attr, one,
};
use crate::ir::{Layout, Shape};

/// What the operators here have in common.
const VIEW: OpDef = OpDef {
    family: Family::View,
    operands: &[one("x")],
    infer: diagonal_types,
    work: |_, _| Work::NONE,
    bounds: Bounds::SAME,
    hands_on: true,
    ..OpDef::PLAIN
};

/// Where a diagonal starts along each of its dimensions, and how long it is.
fn diagonal(c: &Call) -> Result<(usize, usize, usize), TypeError> {
    let (x, first, second) = (c.operands[0], c.dim("dim1", 0)?, c.dim("dim2", 0)?);
    if x.rank() < 2 || first == second {
        return Err(c.error(format!("takes two dimensions of {x}")));
    }
    let offset = c.int("offset");
    let down = usize::try_from(offset.checked_neg().unwrap_or(i64::MAX)).unwrap_or(0);
    let right = usize::try_from(offset).unwrap_or(0);
    let length = x.shape[first].saturating_sub(down).min(x.shape[second].saturating_sub(right));
    Ok((down, right, length))
}

fn diagonal_types(c: &Call) -> Result<Types, TypeError> {
    let (_, _, length) = diagonal(c)?;
    let mut shape = others(c);
    shape.push(length);
    c.output(c.operands[0].dtype, shape)
}

/// The sizes of the dimensions outside of a diagonal.
fn others(c: &Call) -> Shape {
    let both = [c.size("dim1"), c.size("dim2")];
    (0..c.operands[0].rank()).filter(|d| !both.contains(d)).map(|d| c.operands[0].shape[d]).collect()
}

fn unfold_types(c: &Call) -> Result<Types, TypeError> {
    let (dim, room) = c.sized_dim()?;
    let size = usize::try_from(c.int("size")).ok().filter(|&s| s <= room);
    let (Some(size), Some(step)) = (size, usize::try_from(c.int("step")).ok().filter(|&s| s > 0)) else {
        return Err(c.error(format!("has no windows of {} in dimension {dim} of {}", c.int("size"), c.operands[0])));
    };
    let mut shape = c.operands[0].shape.clone();
    shape[dim] = (room - size) / step + 1;
    shape.push(size);
    c.output(c.operands[0].dtype, shape)
}

/// These table entries of the view family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "diagonal",
        elements: Elements::Moved(Moved::All, Movement::Pattern),
        doc: "The elements at places `i` of `dim1` and `i + offset` of `dim2`, in a last dimension of their own.",
        attrs: &[
            attr("offset", AttrKind::Int, Default::Int(0)),
            attr("dim1", AttrKind::Dim, Default::Int(0)),
            attr("dim2", AttrKind::Dim, Default::Int(1)),
        ],
        kernel: Kernel::Element(|c, _, index, fetch| {
            let (down, right, _) = diagonal(c).unwrap_or_default();
            let (first, second) = (c.size("dim1"), c.size("dim2"));
            let at = index[index.len() - 1];
            let mut rest = index.iter();
            let place = |d: usize| match d {
                _ if d == first => Some(at + down),
                _ if d == second => Some(at + right),
                _ => rest.next().copied(),
            };
            let from: Shape = (0..c.operands[0].rank()).filter_map(place).collect();
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, _, l| {
            let (down, right, length) = diagonal(c).ok()?;
            let (first, second) = (c.size("dim1"), c.size("dim2"));
            let kept = (0..l.strides.len()).filter(|&d| d != first && d != second).map(|d| l.strides[d]);
            let skipped = if length == 0 { 0 } else { down * l.strides[first] + right * l.strides[second] };
            let along = l.strides[first] + l.strides[second];
            Some(Layout { strides: kept.chain([along]).collect(), offset: l.offset + skipped })
        }),
        aten: aten!("diagonal", self: X, offset, dim1, dim2),
        replay: torch!(|r| r.x()?.f_diagonal(r.c.int("offset"), r.c.int("dim1"), r.c.int("dim2"))?),
        ..VIEW
    },
    OpDef {
        name: "unfold",
        elements: Elements::Moved(Moved::All, Movement::Pattern),
        doc: "Windows of `size` elements along `dim`, each `step` further than the one before, in a last dimension of their own.",
        attrs: &[
            attr("dim", AttrKind::Dim, Default::Required),
            attr("size", AttrKind::Int, Default::Required),
            attr("step", AttrKind::Int, Default::Required),
        ],
        infer: unfold_types,
        kernel: Kernel::Element(|c, _, index, fetch| {
            let (&within, windows) = index.split_last().ok_or(super::EvalError::IndexOutOfRange)?;
            let mut from = Shape::from_slice(windows);
            let dim = c.size("dim");
            from[dim] = from[dim] * c.size("step") + within;
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, _, l| {
            let (dim, mut out) = (c.size("dim"), l.clone());
            out.strides.push(l.strides[dim]);
            // A step beyond the dimension leaves one window, whose stride does not matter.
            out.strides[dim] *= c.size("step").min(c.operands[0].shape[dim].max(1));
            Some(out)
        }),
        aten: aten!("unfold", self: X, dimension: Attr("dim"), size, step),
        replay: torch!(|r| r.x()?.f_unfold(r.c.int("dim"), r.c.int("size"), r.c.int("step"))?),
        ..VIEW
    },
];

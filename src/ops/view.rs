//! Operators that move or rename elements without computing: most are free aliases on a GPU.

use smallvec::{SmallVec, smallvec};

use super::shapes::{clamp_bound, inverse_permutation};
use super::{
    Arithmetic, AttrKind, Bounds, Call, Default, Elements, Family, Kernel, Launch, LayoutRule, Moved, Movement, OpDef,
    OperandDef, Synthesis, TypeError, Types, Unit, Vanishes, Work, attr, many, one, support,
};
use crate::ir::{Layout, Shape, TensorType, flat_index, unflatten};

const X: &[OperandDef] = &[one("x")];

fn free(_: &Call, _: &[TensorType]) -> Work {
    Work::NONE
}

/// A kernel that copies its output's worth of elements.
fn copies(call: &Call, outputs: &[TensorType]) -> Work {
    let bytes: f64 = outputs.iter().map(|t| t.bytes() as f64).sum();
    Work { bytes_read: bytes, ..Work::streaming(call, outputs, 0.0, Unit::Vector) }
}

fn slice_types(c: &Call) -> Result<Types, TypeError> {
    let dim = c.dim("dim", 0)?;
    let x = c.operands[0];
    let size = *x.shape.get(dim).ok_or_else(|| c.error("cannot slice a scalar"))?;
    let (start, end, step) = (c.int("start"), c.int("end"), c.int("step"));
    if step < 1 {
        return Err(c.error(format!("needs a positive step, not {step}")));
    }
    if start < 0 || end < start || end > size as i64 {
        return Err(c.error(format!("has bounds {start}..{end} outside of dimension {dim} of {x}")));
    }
    let mut shape = x.shape.clone();
    shape[dim] = ((end - start) as usize).div_ceil(step as usize);
    c.output(x.dtype, shape)
}

/// The sizes of each part of a `split`.
fn split_sizes(c: &Call) -> Result<(usize, SmallVec<[usize; 4]>), TypeError> {
    let dim = c.dim("dim", 0)?;
    let size = *c.operands[0].shape.get(dim).ok_or_else(|| c.error("cannot split a scalar"))?;
    let sizes: Option<SmallVec<[usize; 4]>> = c.ints("sizes").iter().map(|&s| usize::try_from(s).ok()).collect();
    match sizes {
        Some(s) if s.iter().try_fold(0_usize, |n, &x| n.checked_add(x)) == Some(size) => Ok((dim, s)),
        _ => Err(c.error(format!("needs sizes that add up to {size}"))),
    }
}

/// What the operators of this family have in common.
const VIEW: OpDef = OpDef {
    family: Family::View,
    operands: X,
    work: free,
    bounds: Bounds::SAME,
    hands_on: true,
    vanishes: Vanishes::With { operand: 0, bias: None },
    ..OpDef::PLAIN
};

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "reshape",
        launch: Launch::Copy,
        elements: Elements::Moved(Moved::All, Movement::Reshape),
        digits: |r| r.reshaped(),
        doc: "The same elements in row-major order under another shape. A copy only where the strides demand one.",
        attrs: &[attr("shape", AttrKind::Ints, Default::Required)],
        infer: |c| {
            let shape: Option<Shape> = c.ints("shape").iter().map(|&d| usize::try_from(d).ok()).collect();
            let types = c.output(c.operands[0].dtype, shape.ok_or_else(|| c.error("needs sizes of 0 or more"))?)?;
            if types[0].numel() != c.operands[0].numel() {
                return Err(c.error(format!("cannot turn {} into {}", c.operands[0], types[0])));
            }
            Ok(types)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let shape: Shape = c.ints("shape").iter().map(|&d| d as usize).collect();
            fetch(0, &unflatten(&c.operands[0].shape, flat_index(&shape, index)))
        }),
        layout: LayoutRule::View(|c, _, layout| {
            let shape: Shape = c.ints("shape").iter().map(|&d| d as usize).collect();
            layout.reshaped(&c.operands[0].shape, &shape)
        }),
        work: copies,
        aten: aten!("reshape", self: X, shape),
        replay: torch!(|r| r.x()?.f_reshape(r.c.ints("shape"))?),
        synthesis: Synthesis::Reshape,
        support: |s| Some(support::reshaped(s)),
        ..VIEW
    },
    OpDef {
        name: "permute",
        elements: Elements::Moved(Moved::All, Movement::Permute),
        digits: |r| Some(r.first(*r.call.dims("dims").ok()?.get(r.dim())?)),
        doc: "Dimension `i` of the result is dimension `dims[i]` of `x`.",
        attrs: &[attr("dims", AttrKind::Dims, Default::Required)],
        infer: |c| {
            let x = c.operands[0];
            let dims = c.dims("dims")?;
            if dims.len() != x.rank() {
                return Err(c.error(format!("needs {} dims, {} are given", x.rank(), dims.len())));
            }
            c.output(x.dtype, dims.iter().map(|&d| x.shape[d]).collect::<Shape>())
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let inverse = inverse_permutation(c.ints("dims")).unwrap_or_default();
            fetch(0, &inverse.iter().map(|&d| index[d as usize]).collect::<Shape>())
        }),
        layout: LayoutRule::View(|c, _, l| {
            Some(Layout { strides: c.ints("dims").iter().map(|&d| l.strides[d as usize]).collect(), offset: l.offset })
        }),
        aten: aten!("permute", self: X, dims),
        replay: torch!(|r| r.x()?.f_permute(r.c.ints("dims"))?),
        synthesis: Synthesis::Permute,
        support: |s| Some(s.call.ints("dims").iter().map(|&d| s.dim(0, d as usize)).collect()),
        ..VIEW
    },
    OpDef {
        name: "expand",
        moves_along: |c| {
            let (from, to) = (&c.operands.first()?.shape, c.ints("shape"));
            let is_repeated = |&dim: &usize| from[dim] as i64 != to[dim];
            (from.len() == to.len()).then(|| (0..to.len()).filter(is_repeated).collect())
        },
        elements: Elements::Moved(Moved::All, Movement::Broadcast),
        digits: |r| Some(r.broadcast()),
        doc: "Repeats dimensions of size 1, and adds dimensions in front, up to `shape`.",
        attrs: &[attr("shape", AttrKind::Ints, Default::Required)],
        infer: |c| {
            let x = c.operands[0];
            let shape: Shape = c.ints("shape").iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect();
            if super::shapes::broadcast(&x.shape, &shape).as_ref() != Some(&shape) {
                return Err(c.error(format!("cannot repeat {x} to {shape:?}")));
            }
            c.output(x.dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            fetch(0, &super::shapes::broadcast_index(&c.operands[0].shape, index))
        }),
        layout: LayoutRule::View(|c, _, l| {
            let from = &c.operands[0].shape;
            let shape = c.ints("shape");
            let skip = shape.len() - from.len();
            let stride = |(i, &size): (usize, &i64)| match i.checked_sub(skip) {
                Some(j) if from[j] as i64 == size => l.strides[j],
                _ => 0,
            };
            Some(Layout { strides: shape.iter().enumerate().map(stride).collect(), offset: l.offset })
        }),
        aten: aten!("expand", self: X, size: Attr("shape")),
        replay: torch!(|r| r.x()?.f_expand(r.c.ints("shape"), false)?),
        synthesis: Synthesis::Expand,
        support: |s| s.broadcast(0),
        ..VIEW
    },
    OpDef {
        name: "slice",
        moves_along: |c| Some(smallvec![c.dim("dim", 0).ok()?]),
        elements: Elements::Moved(Moved::All, Movement::Slice),
        digits: |r| match r.is_along()? {
            true if r.call.int("step") == 1 => r.part(r.call.int("start")),
            along => r.same_if(!along),
        },
        doc: "Every `step`-th element of dimension `dim` from `start` up to, not including, `end`.",
        attrs: &[
            attr("dim", AttrKind::Dim, Default::Required),
            attr("start", AttrKind::Int, Default::Int(0)),
            attr("end", AttrKind::Int, Default::Required),
            attr("step", AttrKind::Int, Default::Int(1)),
        ],
        infer: slice_types,
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            let dim = c.size("dim");
            from[dim] = c.size("start") + c.size("step") * index[dim];
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, _, l| {
            let (dim, start, step) = (c.size("dim"), c.size("start"), c.size("step"));
            let mut out = l.clone();
            out.offset += start * l.strides[dim];
            // A step beyond the dimension leaves one element, whose stride does not matter.
            out.strides[dim] *= step.min(c.operands[0].shape[dim].max(1));
            Some(out)
        }),
        aten: aten!("slice.Tensor", self: X, dim, start, end, step),
        replay: torch!(|r| r.x()?.f_slice(r.c.int("dim"), r.c.int("start"), r.c.int("end"), r.c.int("step"))?),
        synthesis: Synthesis::Slice,
        support: |s| {
            let (start, step) = (s.call.size("start"), s.call.size("step"));
            s.part(s.call.size("dim"), |place| start + place * step)
        },
        ..VIEW
    },
    OpDef {
        name: "split",
        elements: Elements::Moved(Moved::All, Movement::Split),
        digits: |r| match r.is_along()? {
            true => r.part(r.call.ints("sizes").get(..r.slot)?.iter().sum()),
            false => Some(r.same()),
        },
        doc: "Consecutive slices of dimension `dim`, one output per entry of `sizes`.",
        attrs: &[attr("sizes", AttrKind::Ints, Default::Required), attr("dim", AttrKind::Dim, Default::Int(0))],
        infer: |c| {
            let (dim, sizes) = split_sizes(c)?;
            let part = |&size: &usize| {
                let mut ty = c.operands[0].clone();
                ty.shape[dim] = size;
                ty
            };
            Ok(sizes.iter().map(part).collect())
        },
        kernel: Kernel::Element(|c, slot, index, fetch| {
            let mut from = Shape::from_slice(index);
            let before: i64 = c.ints("sizes")[..slot].iter().sum();
            from[c.size("dim")] += clamp_bound(before, usize::MAX >> 1);
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, slot, l| {
            let before: i64 = c.ints("sizes")[..slot].iter().sum();
            Some(Layout { strides: l.strides.clone(), offset: l.offset + before as usize * l.strides[c.size("dim")] })
        }),
        aten: aten!(list "split_with_sizes", self: X, split_sizes: Attr("sizes"), dim),
        replay: torch!(several | r | r.x()?.f_split_with_sizes(r.c.ints("sizes"), r.c.int("dim"))?),
        synthesis: Synthesis::Split,
        support: |s| {
            let start: i64 = s.call.ints("sizes").iter().take(s.slot).sum();
            s.part(s.call.size("dim"), |place| start as usize + place)
        },
        ..VIEW
    },
    OpDef {
        name: "unsqueeze",
        elements: Elements::Moved(Moved::All, Movement::Reshape),
        digits: |r| r.reshaped(),
        doc: "A new dimension of size 1 at `dim`.",
        attrs: &[attr("dim", AttrKind::Int, Default::Required)],
        infer: |c| {
            let x = c.operands[0];
            let dim = usize::try_from(c.int("dim")).ok().filter(|&d| d <= x.rank());
            let dim = dim.ok_or_else(|| c.error(format!("cannot add dimension {} to {x}", c.int("dim"))))?;
            let mut shape = x.shape.clone();
            shape.insert(dim, 1);
            c.output(x.dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            from.remove(c.size("dim"));
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, _, l| {
            let dim = c.size("dim");
            let mut out = l.clone();
            let shape = &c.operands[0].shape;
            let stride = if dim < shape.len() { shape[dim] * l.strides[dim] } else { 1 };
            out.strides.insert(dim, stride);
            Some(out)
        }),
        aten: aten!("unsqueeze", self: X, dim),
        replay: torch!(|r| r.x()?.f_unsqueeze(r.c.int("dim"))?),
        synthesis: Synthesis::Unsqueeze,
        support: |s| {
            let mut dims = support::same(s)?;
            let at = s.call.size("dim");
            (at <= dims.len()).then(|| dims.insert(at, None))?;
            Some(dims)
        },
        ..VIEW
    },
    OpDef {
        name: "squeeze",
        elements: Elements::Moved(Moved::All, Movement::Reshape),
        digits: |r| r.reshaped(),
        doc: "Drops the dimension `dim`, whose size is 1.",
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: |c| {
            let dim = c.dim("dim", 0)?;
            let mut shape = c.operands[0].shape.clone();
            if shape.get(dim) != Some(&1) {
                return Err(c.error(format!("cannot drop dimension {dim} of {}", c.operands[0])));
            }
            shape.remove(dim);
            c.output(c.operands[0].dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            from.insert(c.size("dim"), 0);
            fetch(0, &from)
        }),
        layout: LayoutRule::View(|c, _, l| {
            let mut out = l.clone();
            out.strides.remove(c.size("dim"));
            Some(out)
        }),
        aten: aten!("squeeze.dim", self: X, dim),
        replay: torch!(|r| r.x()?.f_squeeze_dim(r.c.int("dim"))?),
        synthesis: Synthesis::Squeeze,
        support: |s| {
            let mut dims = support::same(s)?;
            dims.remove(s.call.size("dim"));
            Some(dims)
        },
        ..VIEW
    },
    OpDef {
        name: "alias",
        elements: Elements::Moved(Moved::All, Movement::Stay),
        digits: |r| Some(r.same()),
        doc: "The same tensor under another name.",
        infer: |c| c.output(c.operands[0].dtype, c.operands[0].shape.clone()),
        kernel: Kernel::Element(|_, _, index, fetch| fetch(0, index)),
        layout: LayoutRule::View(|_, _, l| Some(l.clone())),
        aten: aten!("alias", self: X),
        replay: torch!(|r| r.x()?.f_alias()?),
        support: support::same,
        ..VIEW
    },
    OpDef {
        name: "fused",
        elements: Elements::Placewise(Arithmetic::Fused),
        digits: |r| Some(r.same()),
        doc: "The same real numbers, computed by one kernel together with the operators before it. Other bits may come out than operator \
              by operator: such a kernel leaves out roundings between products and sums, and may add in another order or treat NaN in \
              its own way. `reads`, if given, is what the kernel reads in place of `x`.",
        operands: &[one("x"), many("reads")],
        infer: |c| {
            let x = c.operands[0];
            if !x.dtype.is_float() {
                return Err(c.error(format!("takes real numbers, not {x}")));
            }
            c.output(x.dtype, x.shape.clone())
        },
        kernel: Kernel::Real(|_, _, index, fetch| fetch(0, index)),
        layout: LayoutRule::Elementwise,
        launch: Launch::Elementwise,
        // The operators before it are implicit: this one stands for the kernel.
        work: |call, outputs| match call.operands {
            [_, reads @ ..] if !reads.is_empty() => {
                let operations: usize = outputs.iter().map(|ty| ty.numel() * reads.len()).sum();
                let bytes_read = reads.iter().map(|ty| ty.bytes() as f64).sum();
                Work { bytes_read, ..Work::streaming(call, outputs, operations as f64, Unit::Vector) }
            }
            _ => Work::per_output::<1>(call, outputs),
        },
        aten: aten!("alias", self: X),
        replay: torch!(|r| r.x()?.f_alias()?),
        support: support::same,
        ..VIEW
    },
    OpDef {
        name: "contiguous",
        launch: Launch::Copy,
        elements: Elements::Moved(Moved::All, Movement::Stay),
        digits: |r| Some(r.same()),
        doc: "The same elements, dense in row-major order. A copy only where they are not yet.",
        infer: |c| c.output(c.operands[0].dtype, c.operands[0].shape.clone()),
        kernel: Kernel::Element(|_, _, index, fetch| fetch(0, index)),
        layout: LayoutRule::View(|c, _, l| l.is_contiguous(&c.operands[0].shape).then(|| l.clone())),
        work: copies,
        aten: aten!("contiguous", self: X),
        replay: torch!(|r| r.x()?.f_contiguous()?),
        support: support::same,
        ..VIEW
    },
    OpDef {
        name: "clone",
        launch: Launch::Elementwise,
        elements: Elements::Moved(Moved::All, Movement::Stay),
        digits: |r| Some(r.same()),
        doc: "A copy of the tensor.",
        infer: |c| c.output(c.operands[0].dtype, c.operands[0].shape.clone()),
        kernel: Kernel::Element(|_, _, index, fetch| fetch(0, index)),
        layout: LayoutRule::Elementwise,
        work: copies,
        aten: aten!("clone", self: X),
        replay: torch!(|r| r.x()?.f_to_dtype(r.x()?.f_kind()?, false, true)?),
        support: support::same,
        ..VIEW
    },
    OpDef {
        name: "concat",
        moves_along: |c| Some(smallvec![c.dim("dim", 0).ok()?]),
        elements: Elements::Moved(Moved::All, Movement::Concat),
        digits: |r| if r.is_along()? { r.parts() } else { Some(r.same_of_all()) },
        doc: "The operands one after the other along `dim`.",
        operands: &[many("xs")],
        attrs: &[attr("dim", AttrKind::Dim, Default::Int(0))],
        infer: |c| {
            if c.operands.is_empty() {
                return Err(c.error("needs an operand"));
            }
            let dim = c.dim("dim", 0)?;
            let dtype = c.same_dtype(0..c.operands.len())?;
            let mut shape = c.operands[0].shape.clone();
            if shape.is_empty() {
                return Err(c.error("cannot join scalars"));
            }
            shape[dim] = 0;
            for t in c.operands {
                let fits = t.rank() == shape.len() && (0..shape.len()).all(|i| i == dim || t.shape[i] == shape[i]);
                if !fits {
                    return Err(c.error(format!("cannot join {} and {t} along dimension {dim}", c.operands[0])));
                }
                shape[dim] += t.shape[dim];
            }
            c.output(dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let dim = c.size("dim");
            let mut from = Shape::from_slice(index);
            for (i, t) in c.operands.iter().enumerate() {
                if from[dim] < t.shape[dim] {
                    return fetch(i, &from);
                }
                from[dim] -= t.shape[dim];
            }
            Err(super::EvalError::IndexOutOfRange)
        }),
        work: copies,
        aten: aten!("cat", tensors: Rest(0), dim),
        replay: torch!(|r| tch::Tensor::f_cat(r.operands, r.c.int("dim"))?),
        bounds: Bounds { range: |r| r.hull(), magnitude: |m| m.largest() },
        synthesis: Synthesis::Concat,
        vanishes: Vanishes::WithAll,
        support: |s| Some(support::concatenated(s, s.call.size("dim"))),
        ..VIEW
    },
    OpDef {
        name: "repeat_heads",
        launch: Launch::RepeatedCopy("times"),
        elements: Elements::Moved(Moved::All, Movement::Repeat),
        digits: |r| match r.dim() {
            1 => r.multiplied(usize::try_from(r.call.int("times")).ok()?, true),
            _ => Some(r.same()),
        },
        doc: "Repeats every entry of dimension 1 `times` times in a row, as grouped-query attention does with key and value heads.",
        attrs: &[attr("times", AttrKind::Int, Default::Required)],
        infer: |c| {
            let times = usize::try_from(c.int("times")).ok().filter(|&n| n > 0);
            let times = times.ok_or_else(|| c.error("needs `times` of 1 or more"))?;
            let mut shape = c.operands[0].shape.clone();
            let heads = shape.get_mut(1).ok_or_else(|| c.error("needs an operand with a head dimension"))?;
            *heads = heads.checked_mul(times).ok_or_else(|| c.error("is too large"))?;
            c.output(c.operands[0].dtype, shape)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            from[1] /= c.size("times");
            fetch(0, &from)
        }),
        work: copies,
        aten: aten!(|c| super::aten_formulas::repeated_heads(c)),
        replay: torch!(|r| {
            // As models write it: a copy of an expanded view.
            let (x, times) = (r.x()?, r.c.int("times"));
            let (mut sizes, mut expanded) = (x.size(), x.size());
            *sizes.get_mut(1).ok_or_else(|| r.lacks_operand())? *= times;
            expanded.insert(2, times);
            x.f_unsqueeze(2)?.f_expand(&expanded[..], false)?.f_reshape(&sizes[..])?
        }),
        synthesis: Synthesis::RepeatHeads,
        support: |s| {
            let times = s.call.size("times").max(1);
            s.part(1, |place| place / times)
        },
        ..VIEW
    },
];

//! Calls that should fit: convolutions, pooling and resampling, but for the most common.

use magneton_ir::ir::{AttrValue, DType, Ints, Shape};
use magneton_ir::ops::OpDef;

use super::draw::{Case, Draw, Fill, int};

/// Non-empty images with `spatial` dimensions behind batch and channel.
fn image(d: &mut Draw, spatial: usize, least: usize) -> Shape {
    let mut x = Shape::from_slice(&[1 + d.below(2), d.size()]);
    x.extend((0..spatial).map(|_| least + d.below(5)));
    x
}

/// As [`super::fitting::fitting`].
pub(crate) fn fitting(op: &OpDef, d: &mut Draw) -> Option<Case> {
    let special = if d.chance(3) { Fill::Special } else { Fill::Any };
    let mut attrs: Vec<(&'static str, AttrValue)> = Vec::new();
    let operands = match op.name {
        "conv3d" => {
            let (dtype, groups, each, out) = (d.float(), 1 + d.below(2), d.size().min(3), d.size().min(3));
            let mut x = Shape::from_slice(&[d.below(3), groups * each]);
            let mut w = Shape::from_slice(&[out * groups, each]);
            for _ in 0..3 {
                x.push(1 + d.below(4));
                w.push(1 + d.below(2));
            }
            attrs.extend([("stride", d.ints(3, 1, 3)), ("padding", d.ints(3, 0, 2))]);
            attrs.extend([("dilation", d.ints(3, 1, 3)), ("groups", int(groups))]);
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &w, Fill::Any)];
            if d.chance(2) {
                all.push(d.operand(dtype, &[out * groups], Fill::Any));
            }
            all
        }
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
            let spatial = match op.name {
                "conv_transpose1d" => 1,
                "conv_transpose2d" => 2,
                _ => 3,
            };
            let (dtype, groups, each, out) = (d.float(), 1 + d.below(2), d.size().min(3), d.size().min(3));
            let mut x = Shape::from_slice(&[1 + d.below(2), groups * each]);
            let mut w = Shape::from_slice(&[groups * each, out]);
            for _ in 0..spatial {
                x.push(1 + d.below(4));
                w.push(1 + d.below(3));
            }
            attrs.extend([("stride", d.ints(spatial, 1, 4)), ("padding", d.ints(spatial, 0, 2))]);
            attrs.extend([("dilation", d.ints(spatial, 1, 3)), ("output_padding", d.ints(spatial, 0, 2))]);
            attrs.push(("groups", int(groups)));
            let mut all = vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &w, Fill::Any)];
            if d.chance(2) {
                all.push(d.operand(dtype, &[out * groups], Fill::Any));
            }
            all
        }
        "max_pool3d" | "avg_pool3d" => {
            let (dtype, x) = (d.float(), image(d, 3, 3));
            attrs.extend([("kernel_size", d.ints(3, 1, 4)), ("stride", d.ints(3, 1, 4)), ("padding", d.ints(3, 0, 2))]);
            attrs.push(("ceil_mode", d.flag()));
            match op.name {
                "max_pool3d" => attrs.push(("dilation", d.ints(3, 1, 3))),
                _ => attrs.push(("count_include_pad", d.flag())),
            }
            vec![d.operand(dtype, &x, if op.name == "max_pool3d" { special } else { Fill::Any })]
        }
        "adaptive_avg_pool" | "adaptive_max_pool" => {
            let (dtype, spatial) = (d.float(), 1 + d.below(3));
            let x = image(d, spatial, 1);
            attrs.push(("output_size", d.ints(spatial, 1, 6)));
            vec![d.operand(dtype, &x, if op.name == "adaptive_max_pool" { special } else { Fill::Any })]
        }
        "upsample_nearest" | "upsample_linear" | "upsample_bicubic" | "upsample_antialiased" => {
            let plane = matches!(op.name, "upsample_bicubic" | "upsample_antialiased");
            let (dtype, spatial) = (d.float(), if plane { 2 } else { 1 + d.below(3) });
            let x = image(d, spatial, 1);
            if op.name == "upsample_antialiased" {
                attrs.push(("mode", AttrValue::str(d.pick(&["linear", "cubic"]))));
            }
            attrs.push(("size", d.ints(spatial, 1, 12)));
            attrs.push((if op.name == "upsample_nearest" { "exact" } else { "align_corners" }, d.flag()));
            vec![d.operand(dtype, &x, if op.name == "upsample_nearest" { special } else { Fill::Any })]
        }
        "grid_sample" => {
            let (dtype, x) = (if d.flag() == AttrValue::Bool(true) { DType::F32 } else { DType::F64 }, image(d, 2, 1));
            let grid = [x[0], d.below(4), d.below(4), 2];
            attrs.push(("mode", AttrValue::str(d.pick(&["bilinear", "nearest", "bicubic"]))));
            attrs.push(("padding", AttrValue::str(d.pick(&["zeros", "border", "reflection"]))));
            attrs.push(("align_corners", d.flag()));
            vec![d.operand(dtype, &x, Fill::Any), d.operand(dtype, &grid, Fill::Any)]
        }
        "pad_edges" => {
            let (dtype, spatial) = (d.float(), 1 + d.below(3));
            let mut x = image(d, spatial, 1);
            if d.chance(3) {
                x.remove(0);
            }
            let mode = d.pick(&["reflect", "replicate", "circular"]);
            let most = |size: usize| match mode {
                "reflect" => size,
                "circular" => size + 1,
                _ => 4,
            };
            let sizes: Ints = x[x.len() - spatial..]
                .iter()
                .flat_map(|&n| [d.below(most(n)), d.below(most(n))])
                .map(|n| n as i64)
                .collect();
            attrs.extend([("pad", AttrValue::Ints(sizes)), ("mode", AttrValue::str(mode))]);
            vec![d.operand(dtype, &x, special)]
        }
        "im2col" => {
            let (dtype, x) = (d.float(), image(d, 2, 2));
            attrs.extend([("kernel_size", d.ints(2, 1, 3)), ("dilation", d.ints(2, 1, 3))]);
            attrs.extend([("padding", d.ints(2, 0, 3)), ("stride", d.ints(2, 1, 4))]);
            vec![d.operand(dtype, &x, special)]
        }
        "col2im" => {
            let dtype = d.float();
            let draw: Vec<[usize; 5]> =
                (0..2).map(|_| [1 + d.below(3), 1 + d.below(2), d.below(2), 1 + d.below(3), 1 + d.below(4)]).collect();
            // Kernel, dilation, padding, stride and windows of each dimension give the size of the image.
            let size = |[k, dilation, _, s, windows]: [usize; 5]| (windows - 1) * s + dilation * (k - 1) + 1;
            let list = |i: usize| AttrValue::Ints(draw.iter().map(|n| n[i] as i64).collect());
            let sizes: Option<Ints> = draw.iter().map(|&n| size(n).checked_sub(2 * n[2]).map(|n| n as i64)).collect();
            let sizes = sizes.filter(|s| s.iter().all(|&n| n > 0)).unwrap_or_else(|| Ints::from_slice(&[1, 1]));
            attrs.extend([("kernel_size", list(0)), ("dilation", list(1)), ("padding", list(2)), ("stride", list(3))]);
            attrs.push(("output_size", AttrValue::Ints(sizes)));
            let x = [1 + d.below(2), draw[0][0] * draw[1][0] * d.size(), draw[0][4] * draw[1][4]];
            vec![d.operand(dtype, &x, Fill::Any)]
        }
        _ => return None,
    };
    Some(Case { attrs, operands })
}

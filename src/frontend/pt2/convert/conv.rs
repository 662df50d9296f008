//! Convolution and pooling.

use super::super::site::{Converted, Refusal, Site, int, ints};
use super::Target;
use crate::ir::{AttrValue, Value};

pub(super) fn convert(site: &mut Site, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("conv1d", "") => conv(site, 1),
        ("conv2d", "") => conv(site, 2),
        // `padding` as a word: "valid" is none, "same" may pad one side more than the other.
        ("conv1d", "padding") if site.str("padding").unwrap_or("valid") == "valid" => conv(site, 1),
        ("conv2d", "padding") if site.str("padding").unwrap_or("valid") == "valid" => conv(site, 2),
        ("convolution", "") if !site.bool_or("transposed", false)? => {
            let x = site.tensor("input")?;
            match site.rank(x) {
                3 => conv(site, 1),
                4 => conv(site, 2),
                _ => Ok(None),
            }
        }
        ("max_pool2d", "") => pool(site, "max_pool2d"),
        // The places are a second output.
        ("max_pool2d_with_indices", "") if !site.is_used(1) => pool(site, "max_pool2d"),
        ("avg_pool2d", "") => pool(site, "avg_pool2d"),
        ("adaptive_avg_pool2d" | "_adaptive_avg_pool2d", "") => global_mean(site),
        _ => Ok(None),
    }
}

/// A list with one entry per spatial dimension; one number stands for all of them.
fn per_dimension(site: &Site, name: &str, count: usize, default: i64) -> Result<Vec<i64>, Refusal> {
    let given = if site.str(name).is_some() { None } else { site.maybe_ints(name)? };
    Ok(match given.as_deref() {
        None | Some([]) => vec![default; count],
        Some([one]) => vec![*one; count],
        Some(all) => all.to_vec(),
    })
}

fn conv(site: &mut Site, spatial: usize) -> Converted {
    let x = site.tensor("input")?;
    // An input without a batch dimension is another operator.
    if site.rank(x) != spatial + 2 {
        return Ok(None);
    }
    let mut operands: Vec<Value> = vec![x, site.tensor("weight")?];
    operands.extend(site.maybe_tensor("bias")?);
    let attrs = [
        ("stride", ints(&per_dimension(site, "stride", spatial, 1)?)),
        ("padding", ints(&per_dimension(site, "padding", spatial, 0)?)),
        ("dilation", ints(&per_dimension(site, "dilation", spatial, 1)?)),
        ("groups", int(site.int_or("groups", 1)?)),
    ];
    site.explicit(if spatial == 1 { "conv1d" } else { "conv2d" }, &attrs, &operands)
}

fn pool(site: &mut Site, op: &str) -> Converted {
    let x = site.tensor("self")?;
    if site.rank(x) != 4 {
        return Ok(None);
    }
    let kernel = per_dimension(site, "kernel_size", 2, 1)?;
    let stride = match site.maybe_ints("stride")? {
        Some(stride) if !stride.is_empty() => per_dimension(site, "stride", 2, 1)?,
        _ => kernel.clone(),
    };
    let padding = per_dimension(site, "padding", 2, 0)?;
    let ceil = site.bool_or("ceil_mode", false)?;
    let mut attrs = vec![("kernel_size", ints(&kernel)), ("stride", ints(&stride)), ("padding", ints(&padding))];
    if op == "max_pool2d" {
        attrs.push(("dilation", ints(&per_dimension(site, "dilation", 2, 1)?)));
        attrs.push(("ceil_mode", AttrValue::Bool(ceil)));
    } else {
        let counts_padding = site.bool_or("count_include_pad", true)? || padding.iter().all(|&p| p == 0);
        if ceil || !counts_padding || site.given("divisor_override") {
            return Ok(None);
        }
    }
    site.explicit(op, &attrs, &[x])
}

/// Pooling down to a single pixel is a mean.
fn global_mean(site: &mut Site) -> Converted {
    let x = site.tensor("self")?;
    if site.ints("output_size")? != [1, 1] || site.rank(x) < 3 {
        return Ok(None);
    }
    let dims = site.dims_of(x, &[-2, -1])?;
    site.explicit("mean", &[("dim", dims), ("keepdim", AttrValue::Bool(true))], &[x])
}

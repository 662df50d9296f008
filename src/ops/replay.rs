//! The same operators on libtorch: the second opinion for the reference evaluator, and what energy is measured on.

use smallvec::SmallVec;
use tch::{Device, Kind, Reduction, TchError, Tensor};

use super::tensors::{elements, kind};
use super::{Call, scalars};
use crate::ir::{DType, Number};

/// Why an operator did not run.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("libtorch: {0}")]
    Torch(#[from] TchError),
    #[error("`{0}` has no counterpart in libtorch")]
    Unknown(&'static str),
    #[error("`{0}` lacks an operand or has one of a type that libtorch does not know")]
    Operand(&'static str),
    #[error("`{0}` is not in the op table")]
    Opaque(String),
    #[error("`{0}` of NaN or infinities ends the library that libtorch calls")]
    Infinite(&'static str),
    #[error("`{0}` gave something else than {1}")]
    Type(&'static str, String),
}

type Result<T> = std::result::Result<T, ReplayError>;

fn all_finite(x: &Tensor) -> Result<bool> {
    Ok(elements(&x.f_isfinite()?.f_all()?)?.iter().all(|v| v.is_true()))
}

/// Runs a well-typed call on libtorch, one result per output slot. `device` is where tensors without operands are made.
pub fn replay(call: &Call, operands: &[Tensor], device: Device) -> Result<Vec<Tensor>> {
    let replay = Replay { c: call, operands, device };
    for family in [Replay::elementwise, Replay::linear, Replay::norm, Replay::view, Replay::reduce, Replay::index] {
        if let Some(result) = family(&replay)? {
            return Ok(vec![result]);
        }
    }
    replay.several()?.ok_or(ReplayError::Unknown(call.op.name))
}

struct Replay<'a> {
    c: &'a Call<'a>,
    operands: &'a [Tensor],
    device: Device,
}

/// `None` if the operator is of another family.
type Found<T = Tensor> = Result<Option<T>>;

impl Replay<'_> {
    fn operand(&self, i: usize) -> Result<&Tensor> {
        self.operands.get(i).ok_or(ReplayError::Operand(self.c.op.name))
    }

    /// An attribute as libtorch wants it for `x`: whole for integers, which a float would promote.
    fn scalar(&self, name: &str, dtype: DType) -> Number {
        self.c.number(name, dtype.accumulator()).unwrap_or_else(|| Number::float(self.c.float(name)))
    }

    /// An attribute that the bindings take as a double only.
    fn double(&self, name: &str, dtype: DType) -> Result<f64> {
        let number = self.scalar(name, dtype);
        let double = number.to_f64();
        let kept =
            matches!(number, Number::Float(_)) || Number::float(double).to_i64().map(Number::Int) == Some(number);
        if kept { Ok(double) } else { Err(ReplayError::Unknown(self.c.op.name)) }
    }

    fn dtype(&self, i: usize) -> Result<DType> {
        self.c.operands.get(i).map(|t| t.dtype).ok_or(ReplayError::Operand(self.c.op.name))
    }

    fn elementwise(&self) -> Found {
        let x = || self.operand(0);
        let y = || self.operand(1);
        Ok(Some(match self.c.op.name {
            "neg" => x()?.f_neg()?,
            "abs" => x()?.f_abs()?,
            "exp" => x()?.f_exp()?,
            "expm1" => x()?.f_expm1()?,
            "log" => x()?.f_log()?,
            "log1p" => x()?.f_log1p()?,
            "sqrt" => x()?.f_sqrt()?,
            "rsqrt" => x()?.f_rsqrt()?,
            "reciprocal" => x()?.f_reciprocal()?,
            "sin" => x()?.f_sin()?,
            "cos" => x()?.f_cos()?,
            "tanh" => x()?.f_tanh()?,
            "erf" => x()?.f_erf()?,
            "sigmoid" => x()?.f_sigmoid()?,
            "relu" => x()?.f_relu()?,
            "silu" => x()?.f_silu()?,
            "floor" => x()?.f_floor()?,
            "round" => x()?.f_round()?,
            "logical_not" => x()?.f_logical_not()?,
            "gelu" => x()?.f_gelu(self.c.str("approximate"))?,
            "pow" => scalars::pow(x()?, self.scalar("exponent", self.dtype(0)?))?,
            "clamp" => self.clamp()?,
            "cast" => x()?.f_to_dtype(self.wanted_kind()?, false, false)?,
            "dropout" => x()?.f_dropout(self.c.float("p"), self.c.bool("train"))?,
            "add" => x()?.f_add(y()?)?,
            "sub" => x()?.f_sub(y()?)?,
            "mul" => x()?.f_mul(y()?)?,
            "div" => x()?.f_div(y()?)?,
            "floor_div" => x()?.f_floor_divide(y()?)?,
            "trunc_div" => x()?.f_div_tensor_mode(y()?, "trunc")?,
            "remainder" => x()?.f_remainder_tensor(y()?)?,
            "maximum" => x()?.f_maximum(y()?)?,
            "minimum" => x()?.f_minimum(y()?)?,
            "eq" => x()?.f_eq_tensor(y()?)?,
            "ne" => x()?.f_ne_tensor(y()?)?,
            "lt" => x()?.f_lt_tensor(y()?)?,
            "le" => x()?.f_le_tensor(y()?)?,
            "gt" => x()?.f_gt_tensor(y()?)?,
            "ge" => x()?.f_ge_tensor(y()?)?,
            "logical_and" => x()?.f_logical_and(y()?)?,
            "logical_or" => x()?.f_logical_or(y()?)?,
            "where" => y()?.f_where_self(x()?, self.operand(2)?)?,
            _ => return Ok(None),
        }))
    }

    fn clamp(&self) -> Result<Tensor> {
        let dtype = self.dtype(0)?;
        let bound = |name| self.c.given(name).then(|| self.scalar(name, dtype));
        Ok(scalars::clamp(self.operand(0)?, bound("min"), bound("max"))?)
    }

    fn wanted_kind(&self) -> Result<Kind> {
        self.c.dtype("dtype").map(kind).ok_or(ReplayError::Operand(self.c.op.name))
    }

    fn linear(&self) -> Found {
        let c = self.c;
        Ok(Some(match c.op.name {
            "matmul" => self.operand(0)?.f_matmul(self.operand(1)?)?,
            "linear" => self.operand(0)?.f_linear(self.operand(1)?, self.operands.get(2))?,
            "addmm" if c.float("beta") == 1.0 && c.float("alpha") == 1.0 => {
                self.operand(0)?.f_addmm(self.operand(1)?, self.operand(2)?)?
            }
            // The bindings give addmm no factors; a batch of one has them.
            "addmm" => {
                let (x, w) = (self.operand(1)?.f_unsqueeze(0)?, self.operand(2)?.f_unsqueeze(0)?);
                self.baddbmm(&x, &w)?.f_squeeze_dim(0)?
            }
            "baddbmm" => self.baddbmm(self.operand(1)?, self.operand(2)?)?,
            "grouped_mm" => self.grouped_mm()?,
            _ => return Ok(None),
        }))
    }

    fn baddbmm(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let dtype = self.dtype(0)?;
        Ok(scalars::baddbmm(self.operand(0)?, x, y, self.scalar("beta", dtype), self.scalar("alpha", dtype))?)
    }

    /// Libtorch's kernel takes bf16 on a GPU, in rows of 16 bytes at a time. Elsewhere only values count: one product a group.
    fn grouped_mm(&self) -> Result<Tensor> {
        let (x, w, ends) = (self.operand(0)?, self.operand(1)?, self.operand(2)?);
        if x.device() != Device::Cpu && x.f_kind()? == Kind::BFloat16 {
            return Ok(x.f_internal_grouped_mm(w, Some(ends), None::<&Tensor>, None::<Kind>)?);
        }
        let rows = x.size().first().copied().unwrap_or(0);
        let mut products = Vec::new();
        let mut start = 0;
        for (group, end) in elements(ends)?.into_iter().enumerate() {
            let end = end.to_i64().unwrap_or(rows).clamp(start, rows);
            products.push(x.f_narrow(0, start, end - start)?.f_matmul(&w.f_select(0, group as i64)?)?);
            start = end;
        }
        // Rows behind all groups would be of a group that does not exist, which libtorch refuses.
        if start < rows {
            products.push(w.f_select(0, w.size().first().copied().unwrap_or(0))?);
        }
        Ok(Tensor::f_cat(&products, 0)?)
    }

    /// Normalisations and attention.
    fn norm(&self) -> Found {
        let (c, more) = (self.c, |i: usize| self.operands.get(i));
        let x = self.operands.first();
        let x = || x.ok_or(ReplayError::Operand(c.op.name));
        let eps = c.float("eps");
        let dtype = c.dtype("dtype").map(kind);
        Ok(Some(match c.op.name {
            "layer_norm" => x()?.f_layer_norm(c.ints("normalized_shape"), more(1), more(2), eps, true)?,
            "rms_norm" => x()?.f_rms_norm(c.ints("normalized_shape"), more(1), eps)?,
            "group_norm" => x()?.f_group_norm(c.int("groups"), more(1), more(2), eps, true)?,
            "batch_norm" => x()?.f_batch_norm(more(3), more(4), more(1), more(2), false, 0.0, eps, true)?,
            "softmax" => x()?.f_softmax(c.int("dim"), dtype)?,
            "log_softmax" => x()?.f_log_softmax(c.int("dim"), dtype)?,
            "sdpa" => Tensor::f_scaled_dot_product_attention(
                x()?,
                self.operand(1)?,
                self.operand(2)?,
                more(3),
                0.0,
                c.bool("causal"),
                c.float("scale"),
                c.bool("grouped"),
            )?,
            _ => return Ok(None),
        }))
    }

    fn view(&self) -> Found {
        let c = self.c;
        let x = || self.operand(0);
        Ok(Some(match c.op.name {
            "reshape" => x()?.f_reshape(c.ints("shape"))?,
            "permute" => x()?.f_permute(c.ints("dims"))?,
            "expand" => x()?.f_expand(c.ints("shape"), false)?,
            "slice" => x()?.f_slice(c.int("dim"), c.int("start"), c.int("end"), c.int("step"))?,
            "unsqueeze" => x()?.f_unsqueeze(c.int("dim"))?,
            "squeeze" => x()?.f_squeeze_dim(c.int("dim"))?,
            "alias" => x()?.f_alias()?,
            "contiguous" => x()?.f_contiguous()?,
            "clone" => x()?.f_to_dtype(x()?.f_kind()?, false, true)?,
            "concat" => Tensor::f_cat(self.operands, c.int("dim"))?,
            "repeat_heads" => {
                // As models write it: a copy of an expanded view.
                let x = x()?;
                let mut sizes = x.size();
                let at = sizes.get_mut(1).ok_or(ReplayError::Operand(c.op.name))?;
                let heads = *at * c.int("times");
                let mut expanded = x.size();
                expanded.insert(2, c.int("times"));
                *at = heads;
                x.f_unsqueeze(2)?.f_expand(&expanded[..], false)?.f_reshape(&sizes[..])?
            }
            "full" => self.full(c.ints("shape"))?,
            "number" => self.full(&[])?,
            "arange" => {
                let like = Tensor::f_empty([0_i64], (self.wanted_kind()?, self.device))?;
                scalars::arange(self.created("start"), self.created("end"), self.created("step"), &like)?
            }
            _ => return Ok(None),
        }))
    }

    fn created(&self, name: &str) -> Number {
        self.scalar(name, self.c.dtype("dtype").unwrap_or(DType::F64))
    }

    /// As libtorch's own `full` does it.
    fn full(&self, shape: &[i64]) -> Result<Tensor> {
        let empty = Tensor::f_empty(shape, (self.wanted_kind()?, self.device))?;
        Ok(scalars::fill(empty, self.created("value"))?)
    }

    fn reduce(&self) -> Found {
        let c = self.c;
        let x = || self.operand(0);
        let (dims, keep) = (c.ints("dim"), c.bool("keepdim"));
        Ok(Some(match c.op.name {
            "sum" => x()?.f_sum_dim_intlist(dims, keep, None::<Kind>)?,
            "mean" => x()?.f_mean_dim(dims, keep, None::<Kind>)?,
            "amax" => x()?.f_amax(dims, keep)?,
            "amin" => x()?.f_amin(dims, keep)?,
            "prod" => {
                // libtorch takes one dimension at a time: from the last on, so that the others keep their place.
                let mut dims: SmallVec<[i64; 4]> = dims.into();
                dims.sort_unstable_by(|a, b| b.cmp(a));
                let first = dims.first().copied().unwrap_or(0);
                let mut out = x()?.f_prod_dim_int(first, keep, None::<Kind>)?;
                for &dim in dims.iter().skip(1) {
                    out = out.f_prod_dim_int(dim, keep, None::<Kind>)?;
                }
                out
            }
            "eigvalsh" => x()?.f_linalg_eigvalsh("L")?,
            "argmax" => x()?.f_argmax(c.int("dim"), keep)?,
            "argmin" => x()?.f_argmin(c.int("dim"), keep)?,
            "any" => x()?.f_any_dims(dims, keep)?,
            "all" => x()?.f_all_dims(dims, keep)?,
            "logsumexp" => x()?.f_logsumexp(dims, keep)?,
            "var" => scalars::variance(x()?, dims, c.float("correction"), keep)?,
            "cumsum" => x()?.f_cumsum(c.int("dim"), None::<Kind>)?,
            "cumprod" => x()?.f_cumprod(c.int("dim"), None::<Kind>)?,
            "cross_entropy" => {
                let reduction = match c.str("reduction") {
                    "mean" => Reduction::Mean,
                    "sum" => Reduction::Sum,
                    _ => Reduction::None,
                };
                x()?.f_cross_entropy_loss(self.operand(1)?, None::<&Tensor>, reduction, -100, 0.0)?
            }
            _ => return Ok(None),
        }))
    }

    /// Indexing, convolution and pooling.
    fn index(&self) -> Found {
        let c = self.c;
        let x = || self.operand(0);
        let y = || self.operand(1);
        let window = || (c.ints("stride"), c.ints("padding"), c.ints("dilation"));
        Ok(Some(match c.op.name {
            "embedding" => Tensor::f_embedding(x()?, y()?, -1, false, false)?,
            "gather" => x()?.f_gather(c.int("dim"), y()?, false)?,
            "index_select" => x()?.f_index_select(c.int("dim"), y()?)?,
            "index" => {
                let indices = self.indices(1)?;
                x()?.f_index(&indices)?
            }
            "scatter" => x()?.f_scatter(c.int("dim"), y()?, self.operand(2)?)?,
            "scatter_add" => x()?.f_scatter_add(c.int("dim"), y()?, self.operand(2)?)?,
            "index_add" => x()?.f_index_add(c.int("dim"), y()?, self.operand(2)?)?,
            "index_put" => {
                let indices = self.indices(2)?;
                x()?.f_index_put(&indices, y()?, c.bool("accumulate"))?
            }
            // The bindings cannot pass the range to libtorch's own histogram.
            "histc" if x()?.device() == Device::Cpu => {
                let (bins, min, max) = (c.int("bins"), c.float("min"), c.float("max"));
                let all = x()?.f_to_kind(Kind::Double)?.f_flatten(0, -1)?;
                let one = |value: f64| Tensor::f_from_slice(&[value]);
                let (least, most, width) = (one(min)?, one(max)?, one(max - min)?);
                let inside = all.f_ge_tensor(&least)?.f_logical_and(&all.f_le_tensor(&most)?)?;
                let scaled = all.f_masked_select(&inside)?.f_sub(&least)?.f_mul(&one(bins as f64)?)?.f_div(&width)?;
                let places = scalars::clamp(&scaled.f_floor()?, None, Some(Number::float((bins - 1) as f64)))?;
                let places = places.f_to_kind(Kind::Int64)?;
                places.f_bincount(None::<&Tensor>, bins)?.f_to_kind(x()?.f_kind()?)?
            }
            "one_hot" => x()?.f_one_hot(c.int("num_classes"))?,
            "tril" => x()?.f_tril(c.int("diagonal"))?,
            "triu" => x()?.f_triu(c.int("diagonal"))?,
            "flip" => x()?.f_flip(c.ints("dims"))?,
            "roll" => x()?.f_roll(c.ints("shifts"), c.ints("dims"))?,
            "repeat_interleave" => x()?.f_repeat_interleave_self_int(c.int("repeats"), c.int("dim"), None::<i64>)?,
            "pad" => {
                // libtorch starts at the last dimension.
                let pad: Vec<i64> = c.ints("pad").chunks_exact(2).rev().flatten().copied().collect();
                x()?.f_pad(&pad[..], "constant", self.double("value", self.dtype(0)?)?)?
            }
            "diff" => x()?.f_diff(c.int("n"), c.int("dim"), self.operands.get(1), None)?,
            "masked_fill" => x()?.f_masked_fill_tensor(y()?, self.operand(2)?)?,
            "conv1d" | "conv2d" => {
                let (stride, padding, dilation) = window();
                let bias = self.operands.get(2);
                match c.op.name {
                    "conv1d" => x()?.f_conv1d(y()?, bias, stride, padding, dilation, c.int("groups"))?,
                    _ => x()?.f_conv2d(y()?, bias, stride, padding, dilation, c.int("groups"))?,
                }
            }
            "max_pool2d" => {
                let (stride, padding, dilation) = window();
                x()?.f_max_pool2d(c.ints("kernel_size"), stride, padding, dilation, c.bool("ceil_mode"))?
            }
            "avg_pool2d" => {
                let (stride, padding, _) = window();
                x()?.f_avg_pool2d(c.ints("kernel_size"), stride, padding, false, true, None::<i64>)?
            }
            _ => return Ok(None),
        }))
    }

    /// The index tensors, which start at operand `first`, by the dimension that they index.
    fn indices(&self, first: usize) -> Result<Vec<Option<&Tensor>>> {
        let mut indices: Vec<Option<&Tensor>> = vec![None; self.operand(0)?.dim()];
        for (&dim, index) in self.c.ints("dims").iter().zip(self.operands.iter().skip(first)) {
            let place = usize::try_from(dim).ok().and_then(|d| indices.get_mut(d));
            *place.ok_or(ReplayError::Operand(self.c.op.name))? = Some(index);
        }
        Ok(indices)
    }

    /// Operators with several results.
    fn several(&self) -> Found<Vec<Tensor>> {
        let c = self.c;
        let x = || self.operand(0);
        Ok(Some(match c.op.name {
            "split" => x()?.f_split_with_sizes(c.ints("sizes"), c.int("dim"))?,
            "topk" => {
                let (values, places) = x()?.f_topk(c.int("k"), c.int("dim"), c.bool("largest"), true)?;
                vec![values, places]
            }
            "eigvals" => {
                let x = x()?;
                if x.device() == Device::Cpu && !all_finite(x)? {
                    return Err(ReplayError::Infinite("eigvals"));
                }
                let values = x.f_linalg_eigvals()?;
                vec![values.f_real()?, values.f_imag()?]
            }
            "sort" => {
                let (values, places) = x()?.f_sort_stable(c.bool("stable"), c.int("dim"), c.bool("descending"))?;
                vec![values, places]
            }
            _ => return Ok(None),
        }))
    }
}

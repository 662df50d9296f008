//! Operators that are no single call on libtorch: the bindings leave out most numbers that they take, and have one call for each
//! number of dimensions. Where the numbers are not the usual ones, the formula is run step by step.

use tch::{Kind, Tensor};

use super::replay::{Replayed, Run};
use super::scalars;
use crate::ir::Number;

impl Run<'_> {
    /// A number as libtorch takes it beside tensors: without dimensions, of the type of `x`.
    pub(super) fn beside(&self, x: &Tensor, value: Number) -> Replayed<Tensor> {
        Ok(scalars::fill(Tensor::f_empty([0_i64; 0], (x.f_kind()?, x.device()))?, value)?)
    }

    pub(super) fn factor(&self, x: &Tensor, value: Number) -> Replayed<Tensor> {
        Ok(x.f_mul(&self.beside(x, value)?)?)
    }

    pub(super) fn times(&self, x: &Tensor, value: f64) -> Replayed<Tensor> {
        self.factor(x, Number::float(value))
    }

    /// The bindings know the factor 1 only, which is the one that kernels are measured with.
    pub(super) fn with_product(&self) -> Replayed<Tensor> {
        let (x, a, b, value) = (self.x()?, self.y()?, self.operand(2)?, self.scalar("value", self.dtype(0)?));
        if value.to_f64() == 1.0 {
            return Ok(x.f_addcmul(a, b)?);
        }
        Ok(x.f_add(&self.factor(&a.f_mul(b)?, value)?)?)
    }

    /// As [`with_product`](Self::with_product), with a quotient.
    pub(super) fn with_quotient(&self) -> Replayed<Tensor> {
        let (x, a, b, value) = (self.x()?, self.y()?, self.operand(2)?, self.c.float("value"));
        if value == 1.0 {
            return Ok(x.f_addcdiv(a, b)?);
        }
        Ok(x.f_add(&self.times(&a.f_div(b)?, value)?)?)
    }

    /// The bindings give a sum no factor. The sum with a product that has a number as one factor is one kernel, too; narrow types would
    /// round that number.
    pub(super) fn with_multiple(&self) -> Replayed<Tensor> {
        let (x, y, alpha) = (self.x()?, self.y()?, self.c.float("alpha"));
        if matches!(x.kind(), tch::Kind::Float | tch::Kind::Double) {
            return Ok(x.f_addcmul(y, &self.beside(y, Number::float(alpha))?)?);
        }
        let wide = |tensor: &Tensor| tensor.f_to_kind(tch::Kind::Double);
        Ok(wide(x)?.f_add(&self.times(&wide(y)?, alpha)?)?.f_to_kind(x.kind())?)
    }

    pub(super) fn above(&self, x: &Tensor, value: f64) -> Replayed<Tensor> {
        Ok(x.f_gt_tensor(&self.beside(x, Number::float(value))?)?)
    }

    /// A formula of operand 0 without the roundings that the operator does not do.
    pub(super) fn in_doubles(&self, formula: impl Fn(&Tensor) -> Replayed<Tensor>) -> Replayed<Tensor> {
        let x = self.x()?;
        Ok(formula(&x.f_to_kind(Kind::Double)?)?.f_to_kind(x.f_kind()?)?)
    }

    pub(super) fn softplus(&self) -> Replayed<Tensor> {
        let (beta, threshold) = (self.c.float("beta"), self.c.float("threshold"));
        if (beta, threshold) == (1.0, 20.0) {
            return Ok(self.x()?.f_softplus()?);
        }
        self.in_doubles(|x| {
            let scaled = self.times(x, beta)?;
            let curve = scaled.f_exp()?.f_log1p()?.f_div(&self.beside(x, Number::float(beta))?)?;
            Ok(x.f_where_self(&self.above(&scaled, threshold)?, &curve)?)
        })
    }

    pub(super) fn elu(&self) -> Replayed<Tensor> {
        let (alpha, scale, input_scale) = (self.c.float("alpha"), self.c.float("scale"), self.c.float("input_scale"));
        if (alpha, scale, input_scale) == (1.0, 1.0, 1.0) {
            return Ok(self.x()?.f_elu()?);
        }
        self.in_doubles(|x| {
            let below = self.times(&self.times(x, input_scale)?.f_expm1()?, alpha * scale)?;
            let negative = x.f_lt_tensor(&self.beside(x, Number::ZERO)?)?;
            Ok(below.f_where_self(&negative, &self.times(x, scale)?)?)
        })
    }

    pub(super) fn leaky_relu(&self) -> Replayed<Tensor> {
        let (x, slope) = (self.x()?, self.c.float("negative_slope"));
        if slope == 0.01 {
            return Ok(x.f_leaky_relu()?);
        }
        // The bindings give it no slope. The kernel of its derivative computes the same from `x` as gradient, with the same
        // roundings, in one kernel that reads `x` once from memory.
        Ok(x.f_leaky_relu_backward(x, slope, false)?)
    }

    pub(super) fn adaptive_mean(&self) -> Replayed<Tensor> {
        let (x, size) = (self.x()?, self.c.ints("output_size"));
        Ok(match size.len() {
            1 => x.f_adaptive_avg_pool1d(size)?,
            2 => x.f_adaptive_avg_pool2d(size)?,
            _ => x.f_adaptive_avg_pool3d(size)?,
        })
    }

    pub(super) fn adaptive_maximum(&self) -> Replayed<Tensor> {
        let (x, size) = (self.x()?, self.c.ints("output_size"));
        Ok(match size.len() {
            1 => x.f_adaptive_max_pool1d(size)?.0,
            2 => x.f_adaptive_max_pool2d(size)?.0,
            _ => x.f_adaptive_max_pool3d(size)?.0,
        })
    }

    pub(super) fn nearest(&self) -> Replayed<Tensor> {
        let (x, size) = (self.x()?, self.c.ints("size"));
        let none = None::<f64>;
        Ok(match (size.len(), self.c.bool("exact")) {
            (1, false) => x.f_upsample_nearest1d(size, none)?,
            (2, false) => x.f_upsample_nearest2d(size, none, none)?,
            (_, false) => x.f_upsample_nearest3d(size, none, none, none)?,
            (1, true) => x.f_internal_upsample_nearest_exact1d(size, none)?,
            (2, true) => x.f_internal_upsample_nearest_exact2d(size, none, none)?,
            (_, true) => x.f_internal_upsample_nearest_exact3d(size, none, none, none)?,
        })
    }

    pub(super) fn linear_interpolation(&self) -> Replayed<Tensor> {
        let (x, size, corners) = (self.x()?, self.c.ints("size"), self.c.bool("align_corners"));
        let none = None::<f64>;
        Ok(match size.len() {
            1 => x.f_upsample_linear1d(size, corners, none)?,
            2 => x.f_upsample_bilinear2d(size, corners, none, none)?,
            _ => x.f_upsample_trilinear3d(size, corners, none, none, none)?,
        })
    }
}

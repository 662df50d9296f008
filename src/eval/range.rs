//! Bounds on the elements of constants. Where all elements are known to be finite, a product with 0 need not look at them.

use super::Constant;
use crate::ir::TensorType;
use crate::ops::Interval;

impl Interval {
    /// The elements of a constant of type `ty`.
    pub fn of(constant: &Constant, ty: &TensorType) -> Option<Interval> {
        match constant {
            Constant::Uniform(v) => Interval::new(v.to_f64(), v.to_f64()),
            Constant::Region(region) => Interval::over([region.inside, region.outside].iter().map(|v| v.to_f64())),
            Constant::Dense(data) => Interval::over(data.iter().map(|v| v.to_f64())),
            Constant::Affine(a) => {
                let ends = a.coefficients.iter().zip(&ty.shape).map(|(&c, &n)| c as f64 * n.saturating_sub(1) as f64);
                let (mut low, mut high) = (a.offset as f64, a.offset as f64);
                for end in ends {
                    low += end.min(0.0);
                    high += end.max(0.0);
                }
                Interval::new(low, high)
            }
        }
    }
}

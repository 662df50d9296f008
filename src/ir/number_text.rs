//! Elements as text.

use super::{DType, Number};

impl Number {
    /// The number as text that is read back as the same element of type `dtype`, with no more digits than that takes.
    pub fn text(self, dtype: DType) -> String {
        match (self, dtype) {
            (_, DType::Bool) => self.is_true().to_string(),
            (Number::Float(v), DType::F32 | DType::F16 | DType::BF16)
                if v.0.is_finite() && f64::from(v.0 as f32) == v.0 =>
            {
                format!("{:?}", v.0 as f32)
            }
            _ => self.to_string(),
        }
    }
}

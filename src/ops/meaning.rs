//! What an operator does to elements, in the terms that formulas have laws for: part of the facet `elements`.
//!
//! No two operators share an [`Arithmetic`] or a [`RowFunction`] other than `Other`: elements that these give of the same operands
//! and attributes are the same, bit for bit.

/// A function of the elements at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    Neg,
    Abs,
    Exp,
    /// `e^x - 1`.
    ExpMinusOne,
    Log,
    /// `ln(1 + x)`.
    LogOnePlus,
    Sqrt,
    /// `1 / sqrt(x)`.
    InverseSqrt,
    /// `1 / x`.
    Reciprocal,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `(e^x - e^-x) / 2`.
    HyperbolicSine,
    /// `(e^x + e^-x) / 2`.
    HyperbolicCosine,
    /// The quotient of the two.
    HyperbolicTangent,
    Sine,
    Cosine,
    /// `x / (1 + e^-x)`.
    Silu,
    /// The logarithm of the sigmoid.
    LogSigmoid,
    /// `ln(1 + e^(beta x)) / beta`, or `x` above a threshold, with the attributes of these names.
    Softplus,
    /// `max(x, 0)`.
    Relu,
    /// `scale x` above 0, `alpha scale (e^(input_scale x) - 1)` below, with the attributes of these names.
    Elu,
    /// `x` above 0, `negative_slope x` below, with the attribute of this name.
    LeakyRelu,
    /// `min(max(x + 3, 0), 6) / 6`.
    HardSigmoid,
    /// `x min(max(x + 3, 0), 6) / 6`.
    HardSwish,
    /// `x` to the power that the attribute `exponent` states.
    Power,
    /// `x` limited to the attributes `min` and `max`, as far as they are given.
    Clamp,
    /// `x` in another element type.
    Cast,
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
    /// `x + value a b`, with the attribute `value`.
    AddProduct,
    /// `x + value a / b`, with the attribute `value`.
    AddQuotient,
    /// `x + alpha y`, with the attribute `alpha`.
    AddScaled,
    /// `x + w (y - x)`.
    Between,
    /// The same real number, perhaps with other bits.
    Fused,
    Compare(Comparison),
    And,
    Or,
    Not,
    /// Operand 1 where operand 0 holds, operand 2 elsewhere.
    Select,
    /// One that formulas have no law for.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Of "greater", what says the same of the operands in the other order.
    pub fn as_less(self) -> Option<Comparison> {
        match self {
            Comparison::Greater => Some(Comparison::Less),
            Comparison::GreaterOrEqual => Some(Comparison::LessOrEqual),
            Comparison::Equal | Comparison::NotEqual | Comparison::Less | Comparison::LessOrEqual => None,
        }
    }
}

/// A function of a lane: it gives one element for all of it, or one for each of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowFunction {
    Sum,
    Mean,
    Product,
    Max,
    Min,
    Variance,
    /// `sum(|x|^ord)^(1 / ord)`, with the attribute `ord`.
    Length,
    LogSumExp,
    /// The sum of the elements up to the place.
    RunningSum,
    /// The product of the elements up to the place.
    RunningProduct,
    /// The largest of the elements up to the place.
    RunningMax,
    /// The smallest of the elements up to the place.
    RunningMin,
    Softmax,
    LogSoftmax,
    LayerNorm,
    RmsNorm,
    /// The place of the first largest element.
    PlaceOfLargest,
    /// The place of the first smallest element.
    PlaceOfSmallest,
    /// One that formulas have no law for.
    Other,
}

/// Where elements that are moved go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Movement {
    /// To the place where they stood.
    Stay,
    /// To all places that broadcasting gives them.
    Broadcast,
    /// The dimensions change their order, as the attribute `dims` states.
    Permute,
    /// They keep their row-major order under another shape.
    Reshape,
    /// Every `step`-th one from `start` on is taken along `dim`.
    Slice,
    /// Each output takes a part of `dim`, of one of the `sizes`.
    Split,
    /// One operand after the other along `dim`.
    Concat,
    /// Each is repeated along a dimension.
    Repeat,
    /// The order along `dims` is reversed.
    Flip,
    /// They stay on one side of the diagonal number `diagonal`, and 0 goes to the other.
    Triangle(Triangle),
    /// Each place takes one of them by a fixed pattern other than these.
    Pattern,
    /// Each place takes one of them that tensors name along some `dims`.
    Index,
    /// Each place takes one of them that another operand names in another way.
    Gather,
    /// Each place takes one of them by a fixed pattern, or a number.
    Padded,
}

impl Movement {
    /// Whether some places of the result take a number, which is no element.
    pub fn adds_numbers(self) -> bool {
        match self {
            Movement::Triangle(_) | Movement::Padded => true,
            Movement::Stay
            | Movement::Broadcast
            | Movement::Permute
            | Movement::Reshape
            | Movement::Slice
            | Movement::Split
            | Movement::Concat
            | Movement::Repeat
            | Movement::Flip
            | Movement::Pattern
            | Movement::Index
            | Movement::Gather => false,
        }
    }
}

/// The side of a diagonal where elements stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    Lower,
    Upper,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::EvalError;
    use crate::ir::{AttrValue, DType, Number, Shape, TensorType};
    use crate::ops::{AttrKind, Call, OpDef, all};

    /// What a function of these numbers is, with 3 for an exponent or a factor, and -1 and 2 for limits.
    fn value(function: Arithmetic, v: &[f64]) -> f64 {
        let holds = |is: bool| f64::from(u8::from(is));
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match function {
            Arithmetic::Neg => -v[0],
            Arithmetic::Abs => v[0].abs(),
            Arithmetic::Exp => v[0].exp(),
            Arithmetic::ExpMinusOne => v[0].exp() - 1.0,
            Arithmetic::Log => v[0].ln(),
            Arithmetic::LogOnePlus => (1.0 + v[0]).ln(),
            Arithmetic::Sqrt => v[0].sqrt(),
            Arithmetic::InverseSqrt => 1.0 / v[0].sqrt(),
            Arithmetic::Reciprocal => 1.0 / v[0],
            Arithmetic::Sigmoid => sigmoid(v[0]),
            Arithmetic::Silu => v[0] * sigmoid(v[0]),
            Arithmetic::HyperbolicSine => v[0].sinh(),
            Arithmetic::HyperbolicCosine => v[0].cosh(),
            Arithmetic::HyperbolicTangent => v[0].tanh(),
            Arithmetic::Sine => v[0].sin(),
            Arithmetic::Cosine => v[0].cos(),
            Arithmetic::LogSigmoid => sigmoid(v[0]).ln(),
            Arithmetic::Softplus => (1.0 + v[0].exp()).ln(),
            Arithmetic::Relu => v[0].max(0.0),
            Arithmetic::Elu if v[0] > 0.0 => v[0],
            Arithmetic::Elu => 3.0 * (v[0].exp() - 1.0),
            Arithmetic::LeakyRelu => v[0] * if v[0] > 0.0 { 1.0 } else { 0.01 },
            Arithmetic::HardSigmoid => (v[0] + 3.0).clamp(0.0, 6.0) / 6.0,
            Arithmetic::HardSwish => v[0] * (v[0] + 3.0).clamp(0.0, 6.0) / 6.0,
            Arithmetic::Power => v[0] * v[0] * v[0],
            Arithmetic::Clamp => v[0].clamp(-1.0, 2.0),
            Arithmetic::Cast | Arithmetic::Fused => v[0],
            Arithmetic::Add => v[0] + v[1],
            Arithmetic::Sub => v[0] - v[1],
            Arithmetic::Mul => v[0] * v[1],
            Arithmetic::Div => v[0] / v[1],
            Arithmetic::Max => v[0].max(v[1]),
            Arithmetic::Min => v[0].min(v[1]),
            Arithmetic::AddProduct => v[0] + 3.0 * v[1] * v[2],
            Arithmetic::AddQuotient => v[0] + 3.0 * v[1] / v[2],
            Arithmetic::AddScaled => v[0] + 3.0 * v[1],
            Arithmetic::Between => v[0] + v[2] * (v[1] - v[0]),
            Arithmetic::Compare(comparison) => holds(match comparison {
                Comparison::Equal => v[0] == v[1],
                Comparison::NotEqual => v[0] != v[1],
                Comparison::Less => v[0] < v[1],
                Comparison::LessOrEqual => v[0] <= v[1],
                Comparison::Greater => v[0] > v[1],
                Comparison::GreaterOrEqual => v[0] >= v[1],
            }),
            Arithmetic::And => holds(v[0] != 0.0 && v[1] != 0.0),
            Arithmetic::Or => holds(v[0] != 0.0 || v[1] != 0.0),
            Arithmetic::Not => holds(v[0] == 0.0),
            Arithmetic::Select => v[if v[0] == 0.0 { 2 } else { 1 }],
            Arithmetic::Other => f64::NAN,
        }
    }

    /// What a function of a lane gives for its element number `place`.
    fn value_of_lane(function: RowFunction, lane: &[f64], place: usize) -> f64 {
        let count = lane.len() as f64;
        let (sum, exponentials) = (lane.iter().sum::<f64>(), lane.iter().map(|x| x.exp()).sum::<f64>());
        let squares = lane.iter().map(|x| x * x).sum::<f64>();
        let deviations = squares - sum * sum / count;
        match function {
            RowFunction::Sum => sum,
            RowFunction::Mean => sum / count,
            RowFunction::Product => lane.iter().product(),
            RowFunction::Max => lane.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            RowFunction::Min => lane.iter().copied().fold(f64::INFINITY, f64::min),
            RowFunction::Variance => deviations / (count - 1.0),
            RowFunction::Length => squares.sqrt(),
            RowFunction::LogSumExp => exponentials.ln(),
            RowFunction::RunningSum => lane[..=place].iter().sum(),
            RowFunction::RunningProduct => lane[..=place].iter().product(),
            RowFunction::RunningMax => lane[..=place].iter().copied().fold(f64::NEG_INFINITY, f64::max),
            RowFunction::RunningMin => lane[..=place].iter().copied().fold(f64::INFINITY, f64::min),
            RowFunction::Softmax => lane[place].exp() / exponentials,
            RowFunction::LogSoftmax => lane[place] - exponentials.ln(),
            RowFunction::LayerNorm => (lane[place] - sum / count) / (deviations / count + 1.0).sqrt(),
            RowFunction::RmsNorm => lane[place] / (squares / count + 1.0).sqrt(),
            RowFunction::PlaceOfLargest | RowFunction::PlaceOfSmallest => {
                let sign = if function == RowFunction::PlaceOfLargest { 1.0 } else { -1.0 };
                let is_best = |&at: &usize| lane.iter().all(|other| sign * lane[at] >= sign * other);
                (0..lane.len()).find(is_best).map_or(f64::NAN, |at| at as f64)
            }
            RowFunction::Other => f64::NAN,
        }
    }

    fn attrs(op: &OpDef, dtype: DType) -> crate::ir::Attrs {
        let value = |name: &str| match name {
            "exponent" | "value" | "alpha" => Some(AttrValue::float(3.0)),
            "min" => Some(AttrValue::float(-1.0)),
            "max" => Some(AttrValue::float(2.0)),
            "dtype" => Some(AttrValue::DType(dtype)),
            "dim" if op.row_function() == RowFunction::Other => None,
            "dim" if op.attrs.iter().any(|a| a.kind == AttrKind::Dims) => {
                Some(AttrValue::Ints([0].into_iter().collect()))
            }
            "dim" => Some(AttrValue::Int(0)),
            "normalized_shape" => Some(AttrValue::Ints([4].into_iter().collect())),
            "eps" | "correction" => Some(AttrValue::float(1.0)),
            _ => None,
        };
        let all = op.attrs.iter().map(|a| value(a.name).or_else(|| a.default.value()));
        all.collect::<Option<_>>().unwrap_or_else(|| panic!("attributes of {}", op.name))
    }

    fn assert_near(op: &OpDef, found: f64, wanted: f64, of: &[f64]) {
        let near = found == wanted || (found - wanted).abs() <= 1e-12 * wanted.abs().max(1.0);
        assert!(near || found.is_nan() && wanted.is_nan(), "{} of {of:?} is {found}, not {wanted}", op.name);
    }

    #[test]
    fn operators_are_the_functions_that_their_entries_say() {
        let types = [DType::F64, DType::Bool].map(|dtype| TensorType::new(dtype, Shape::new()).unwrap());
        for op in all().filter(|op| op.arithmetic() != Arithmetic::Other) {
            let operands: Vec<&TensorType> = (0..op.operands.len())
                .map(|i| &types[usize::from(op.arithmetic() == Arithmetic::Select && i == 0)])
                .collect();
            let attrs = attrs(op, DType::F64);
            let call = Call { op, attrs: &attrs, operands: &operands };
            assert!(call.infer().is_ok(), "{}", op.name);
            for pick in 0..5_usize.pow(operands.len() as u32) {
                let values: Vec<f64> = (0..operands.len())
                    .map(|i| [-2.5, 0.0, 0.75, 1.0, 3.0][pick / 5_usize.pow(i as u32) % 5])
                    .collect();
                let mut fetch = |operand: usize, _: &[usize]| -> Result<Number, EvalError> {
                    Ok(types[usize::from(operands[operand].dtype == DType::Bool)].dtype.element(values[operand]))
                };
                let found = op.kernel.compute(&call, 0, &[], &mut fetch).unwrap()[0].to_f64();
                assert_near(op, found, value(op.arithmetic(), &values), &values);
            }
        }
    }

    #[test]
    fn operators_are_the_functions_of_lanes_that_their_entries_say() {
        let ty = TensorType::new(DType::F64, Shape::from_slice(&[4])).unwrap();
        let lane = [-0.5, 2.0, 0.25, 1.0];
        for op in all().filter(|op| op.row_function() != RowFunction::Other) {
            let attrs = attrs(op, DType::F64);
            let call = Call { op, attrs: &attrs, operands: &[&ty] };
            let result = call.infer().unwrap().swap_remove(0);
            let mut fetch = |_: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(Number::float(lane[at[0]])) };
            for place in 0..result.numel() {
                let index = if result.rank() == 0 { vec![] } else { vec![place] };
                let found = op.kernel.compute(&call, 0, &index, &mut fetch).unwrap();
                let found = if found.len() > 1 { found[place] } else { found[0] };
                assert_near(op, found.to_f64(), value_of_lane(op.row_function(), &lane, place), &lane);
            }
        }
    }

    #[test]
    fn no_two_operators_are_the_same_function() {
        let mut seen = Vec::new();
        for op in all() {
            let function = (op.arithmetic(), op.row_function());
            if function != (Arithmetic::Other, RowFunction::Other) {
                assert!(!seen.contains(&function), "{}", op.name);
                seen.push(function);
            }
        }
        assert!(seen.len() > 40, "{}", seen.len());
    }
}

//! Random choices of types, shapes, elements and attributes.

use magneton_ir::eval::random;
use magneton_ir::ir::{AttrValue, DType, Ints, Number, Shape, TensorType};

/// A stream of small random choices.
pub(crate) struct Draw {
    pub seed: u64,
    pub count: u64,
    /// Whether elements lie at the edges of their type, which then is any type.
    pub edges: bool,
}

/// What the elements of an operand look like.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fill {
    /// Normally distributed, or small integers.
    Any,
    /// Multiples of 1/2 close to 0, so that ties happen; now and then NaN or infinite.
    Special,
    /// Whole numbers of `low..high`.
    Range(i64, i64),
}

pub(crate) struct Operand {
    pub ty: TensorType,
    pub data: Vec<Number>,
}

pub(crate) struct Case {
    pub attrs: Vec<(&'static str, AttrValue)>,
    pub operands: Vec<Operand>,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw { seed, count: 0, edges: false }
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.count += 1;
        (random::mix(self.seed, self.count) % n as u64) as usize
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(crate) fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as usize) as i64
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn size(&mut self) -> usize {
        self.pick(&[1, 1, 2, 3, 4, 5])
    }

    pub(crate) fn shape(&mut self, least: usize, most: usize) -> Shape {
        let rank = least + self.below(most - least + 1);
        let mut shape: Shape = (0..rank).map(|_| self.size()).collect();
        if rank > 0 && self.chance(25) {
            let at = self.below(rank);
            shape[at] = 0;
        }
        shape
    }

    /// A shape that broadcasts to `full`.
    pub(crate) fn weakened(&mut self, full: &[usize]) -> Shape {
        let skip = if self.chance(3) { self.below(full.len() + 1) } else { 0 };
        full[skip..].iter().map(|&d| if self.chance(4) { 1 } else { d }).collect()
    }

    pub(crate) fn float(&mut self) -> DType {
        if self.edges {
            return self.pick(&[DType::F64, DType::F32, DType::F16, DType::BF16]);
        }
        self.pick(&[DType::F64, DType::F64, DType::F32])
    }

    pub(crate) fn dtype(&mut self) -> DType {
        if self.edges && self.chance(2) {
            return self.pick(&[DType::F16, DType::BF16, DType::I16, DType::F8E4M3, DType::F8E5M2]);
        }
        self.pick(&[DType::F64, DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::I8, DType::Bool])
    }

    pub(crate) fn operand(&mut self, dtype: DType, shape: &[usize], fill: Fill) -> Operand {
        let ty = TensorType::new(dtype, Shape::from_slice(shape)).expect("a small shape");
        let seed = random::mix(self.seed, self.below(1 << 30) as u64);
        let element = |flat: usize| match fill {
            Fill::Range(low, high) => {
                (low + (random::mix(seed, flat as u64) % (high - low).max(1) as u64) as i64) as f64
            }
            _ if dtype == DType::Bool || !dtype.is_float() => random::element(seed, &ty, flat),
            Fill::Any => random::element(seed, &ty, flat),
            Fill::Special => match random::mix(seed, flat as u64) % 24 {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                _ => (random::element(seed, &ty, flat) * 2.0).round() / 2.0,
            },
        };
        let edge = self.edges && !matches!(fill, Fill::Range(..)) && self.chance(2);
        let data =
            (0..ty.numel())
                .map(|flat| {
                    if edge {
                        edge_element(dtype, random::mix(seed, flat as u64))
                    } else {
                        dtype.element(element(flat))
                    }
                })
                .collect();
        Operand { ty, data }
    }

    /// A number attribute for a tensor of type `dtype`: one of `usual`, or one at the edges of the type.
    pub(crate) fn number(&mut self, dtype: DType, usual: &[f64]) -> AttrValue {
        if self.edges && self.chance(2) {
            return edge_element(dtype, self.below(1 << 20) as u64).into();
        }
        AttrValue::float(self.pick(usual))
    }

    pub(crate) fn ints(&mut self, count: usize, low: i64, high: i64) -> AttrValue {
        AttrValue::Ints((0..count).map(|_| self.range(low, high)).collect())
    }

    pub(crate) fn dim(&mut self, rank: usize) -> AttrValue {
        AttrValue::Int(self.below(rank.max(1)) as i64)
    }

    /// Some dimensions of a tensor, at least one unless it is a scalar, in ascending order.
    pub(crate) fn dims(&mut self, rank: usize) -> Ints {
        let mut dims: Ints = (0..rank as i64).filter(|_| self.chance(2)).collect();
        if dims.is_empty() && rank > 0 {
            dims.push(self.below(rank) as i64);
        }
        dims
    }

    pub(crate) fn flag(&mut self) -> AttrValue {
        AttrValue::Bool(self.chance(2))
    }
}

/// A value at an edge of `dtype`.
pub(crate) fn edge_element(dtype: DType, choice: u64) -> Number {
    if let Some((low, high)) = dtype.int_range() {
        let all = [low, low + 1, -1, 0, 1, 2, high - 1, high, 1 << 24 | 1, 1 << 53 | 1, -(1 << 53 | 1), 1 << 62, 3, 7];
        return Number::Int(dtype.wrap(all[choice as usize % all.len()]));
    }
    let largest = dtype.max_finite().unwrap_or(f64::MAX);
    let all = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        1.5,
        3.0,
        1.0 / 3.0,
        largest,
        -largest,
        1.0 + dtype.epsilon().unwrap_or(0.0),
        f64::from(1 << 24 | 1),
        2.0_f64.powi(-24),
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    dtype.element(all[choice as usize % all.len()])
}

pub(crate) fn int(value: usize) -> AttrValue {
    AttrValue::Int(value as i64)
}

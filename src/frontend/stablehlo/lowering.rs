//! One operation while it is lowered: its operands, its attributes, and what is known of values.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::attribute::Attribute;
use super::form::Form;
use super::literal::as_typed;
use super::product::Product;
use crate::frontend::builder::{Converted, Lowering, Refusal, Values, int, ints};
use crate::ir::{Arrangement, AttrValue, DType, Number, Shape, TensorType, Value};
use crate::ops::shapes::broadcast;
use crate::ops::{Call, Kernel, find};

/// What is known of the values of a graph beside their types.
#[derive(Default)]
pub(super) struct Tables {
    /// The number that all elements of a value are.
    pub uniform: FxHashMap<Value, Number>,
    /// What a repeated value repeats, as a tensor that broadcasts to it by PyTorch's rule.
    pub repeats: FxHashMap<Value, Value>,
    /// Of a value that lost dimensions in a reduction, the same elements with these dimensions kept as ones.
    pub kept: FxHashMap<Value, Value>,
    /// The dimension along which a value counts up from 0 in steps of 1.
    pub iota: FxHashMap<Value, usize>,
    /// What a value arranges anew, and how.
    pub arranged: FxHashMap<Value, (Value, Arrangement)>,
    /// What a value is the product of.
    pub products: FxHashMap<Value, Product>,
    /// Of two parts, the complex numbers that have them, as pairs in a last dimension.
    pub pairs: FxHashMap<[Value; 2], Value>,
}

/// One operation of a module, all of whose operands and results are tensors.
pub(super) struct NodeLowering<'a, 't, 's> {
    pub low: Lowering<'a>,
    pub tables: &'a mut Tables,
    pub form: &'a Form<'t, 's>,
    pub operands: &'a [Value],
    /// The types that the module states.
    pub results: &'a [TensorType],
}

impl NodeLowering<'_, '_, '_> {
    /// The operands, of which there must be `N`.
    pub(super) fn all<const N: usize>(&self) -> Result<[Value; N], Refusal> {
        self.operands
            .try_into()
            .map_err(|_| Refusal::new(format!("has {} operands instead of {N}", self.operands.len())))
    }

    /// The stated type of the first result.
    pub(super) fn result(&self) -> Result<&TensorType, Refusal> {
        self.results.first().ok_or_else(|| Refusal::new("has no result"))
    }

    pub(super) fn shape(&self, value: Value) -> Shape {
        self.low.graph.ty(value).shape.clone()
    }

    pub(super) fn rank(&self, value: Value) -> usize {
        self.low.rank(value)
    }

    pub(super) fn dtype(&self, value: Value) -> DType {
        self.low.dtype(value)
    }

    /// A list of integers, which the operation must have.
    pub(super) fn ints(&self, names: &[&str]) -> Result<Vec<i64>, Refusal> {
        self.maybe_ints(names)?.ok_or_else(|| Refusal::new(format!("needs the attribute `{}`", names.join("` or `"))))
    }

    pub(super) fn maybe_ints(&self, names: &[&str]) -> Result<Option<Vec<i64>>, Refusal> {
        let Some(attribute) = self.form.attribute(names) else { return Ok(None) };
        let list = attribute.ints().ok_or_else(|| Refusal::new(format!("takes a list as `{}`", names.join("`/`"))))?;
        Ok(Some(list))
    }

    /// A list of dimensions of a tensor of that rank.
    pub(super) fn dims(&self, names: &[&str], rank: usize) -> Result<Vec<usize>, Refusal> {
        self.ints(names)?.into_iter().map(|d| dimension(d, rank)).collect()
    }

    /// A dimension of a tensor of that rank.
    pub(super) fn dim(&self, names: &[&str], rank: usize) -> Result<usize, Refusal> {
        let found = self.form.attribute(names).and_then(Attribute::int);
        let dim = found.ok_or_else(|| Refusal::new(format!("needs the attribute `{}`", names.join("` or `"))))?;
        dimension(dim, rank)
    }

    pub(super) fn int_or(&self, names: &[&str], default: i64) -> i64 {
        self.form.attribute(names).and_then(Attribute::int).unwrap_or(default)
    }

    pub(super) fn uniform(&self, value: Value) -> Option<Number> {
        self.tables.uniform.get(&value).copied()
    }

    /// The node that stands for the operation, by one operator of the table.
    pub(super) fn emit(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        self.low.emit(op, attrs, operands)
    }

    /// A node on the way.
    pub(super) fn part(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Result<Value, Refusal> {
        self.low.implicit(op, op, attrs, operands)
    }

    pub(super) fn reshape(&mut self, value: Value, shape: &[usize]) -> Result<Value, Refusal> {
        if *self.shape(value) == *shape {
            return Ok(value);
        }
        let plain = ("reshape", ("shape", AttrValue::shape(shape)));
        self.arranged(value, |found| found.reshaped(shape), plain)
    }

    pub(super) fn permute(&mut self, value: Value, dims: &[usize]) -> Result<Value, Refusal> {
        if dims.iter().enumerate().all(|(i, &d)| i == d) {
            return Ok(value);
        }
        self.arranged(value, |found| found.permuted(dims), ("permute", ("dims", usizes(dims))))
    }

    /// What `step` makes of a value, from what the value itself arranges; by `plain`, an operator and its attribute, if it arranges
    /// nothing, or if that has no such form.
    fn arranged(
        &mut self,
        value: Value,
        step: impl Fn(&Arrangement) -> Option<Arrangement>,
        (plain, attribute): (&str, (&str, AttrValue)),
    ) -> Result<Value, Refusal> {
        let known = self.tables.arranged.get(&value).cloned();
        let Some((source, found)) = known.and_then(|(source, found)| Some((source, step(&found)?))) else {
            let found = Arrangement::of(&self.shape(value)).and_then(|whole| step(&whole));
            let made = self.part(plain, &[attribute], &[value])?;
            if let Some(found) = found {
                self.tables.arranged.insert(made, (value, found));
            }
            return Ok(made);
        };
        let steps = found.steps();
        let mut made = source;
        if let Some(split) = steps.split {
            made = self.part("reshape", &[("shape", AttrValue::shape(&split))], &[made])?;
        }
        if let Some(order) = steps.order {
            made = self.part("permute", &[("dims", usizes(&order))], &[made])?;
        }
        if let Some(shape) = steps.shape {
            made = self.part("reshape", &[("shape", AttrValue::shape(&shape))], &[made])?;
        }
        if made != source {
            self.tables.arranged.insert(made, (source, found));
        }
        Ok(made)
    }

    pub(super) fn expand(&mut self, value: Value, shape: &[usize]) -> Result<Value, Refusal> {
        if *self.shape(value) == *shape {
            return Ok(value);
        }
        self.part("expand", &[("shape", AttrValue::shape(shape))], &[value])
    }

    /// `value` from `start` up to `end` along `dim`.
    pub(super) fn slice(
        &mut self,
        value: Value,
        dim: usize,
        start: i64,
        end: i64,
        step: i64,
    ) -> Result<Value, Refusal> {
        let size = self.shape(value).get(dim).map_or(0, |&s| s as i64);
        if (start, end, step) == (0, size, 1) {
            return Ok(value);
        }
        let attrs = [("dim", int(dim as i64)), ("start", int(start)), ("end", int(end)), ("step", int(step))];
        self.part("slice", &attrs, &[value])
    }

    pub(super) fn cast(&mut self, value: Value, dtype: DType) -> Result<Value, Refusal> {
        self.low.cast("cast", value, dtype)
    }

    /// A number as a tensor without dimensions.
    pub(super) fn number(&mut self, value: Number, dtype: DType) -> Result<Value, Refusal> {
        let number = self.low.number("number", as_typed(value, dtype), dtype)?;
        self.tables.uniform.insert(number, value);
        Ok(number)
    }

    /// `0, 1, …` up to `size`.
    pub(super) fn counting(&mut self, size: usize, dtype: DType) -> Result<Value, Refusal> {
        self.part("arange", &[("end", int(size as i64)), ("dtype", AttrValue::DType(dtype))], &[])
    }

    /// The operand as elementwise operators of the table take it: what a repeated tensor repeats, where the shape of the
    /// result does not suffer.
    pub(super) fn unrepeated(&self, operands: &[Value]) -> SmallVec<[Value; 3]> {
        let mut chosen: SmallVec<[Value; 3]> = SmallVec::from_slice(operands);
        let joint = |all: &[Value]| {
            all.iter().try_fold(Shape::new(), |shape, &v| broadcast(&shape, &self.low.graph.ty(v).shape))
        };
        let wanted = joint(operands);
        for i in 0..chosen.len() {
            if let Some(&source) = self.tables.repeats.get(&chosen[i]) {
                let before = std::mem::replace(&mut chosen[i], source);
                if joint(&chosen) != wanted {
                    chosen[i] = before;
                }
            }
        }
        chosen
    }

    /// An elementwise operator of the table. Of numbers that are known, the result is known.
    pub(super) fn elementwise(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        let known: Option<Vec<Number>> = operands.iter().map(|&v| self.uniform(v)).collect();
        let Some(result) = known.and_then(|known| self.computed(op, attrs, operands, &known)) else {
            if let Some(same) = self.unchanged(op, operands) {
                return self.gives(same);
            }
            if let Some(values) = self.on_kept(op, attrs, operands)? {
                return Ok(Some(values));
            }
            if let Some(values) = self.on_narrow(op, attrs, operands)? {
                return Ok(Some(values));
            }
            let operands = self.unrepeated(operands);
            return self.emit(op, attrs, &operands);
        };
        let (number, dtype) = result;
        let value = match operands.iter().all(|&v| self.rank(v) == 0) {
            true => self.number(number, dtype)?,
            false => {
                let operands = self.unrepeated(operands);
                match self.emit(op, attrs, &operands)?.and_then(|all| all.first().copied()) {
                    Some(value) => value,
                    None => return Ok(None),
                }
            }
        };
        self.tables.uniform.insert(value, number);
        Ok(Some(Values::from_elem(value, 1)))
    }

    /// The operand that an operator gives unchanged, whatever its elements are: NaN and zeros of both signs included.
    fn unchanged(&self, op: &str, operands: &[Value]) -> Option<Value> {
        let neutral = |value: Value, wanted: f64| {
            let number = self.uniform(value)?;
            // -0.0 is not 0.0 here.
            let same =
                if self.dtype(value).is_float() { number == Number::float(wanted) } else { number.to_f64() == wanted };
            same.then_some(())
        };
        let same = match (op, operands) {
            ("where", &[condition, x, y]) if self.dtype(x) == DType::Bool => {
                neutral(x, 1.0).and(neutral(y, 0.0))?;
                condition
            }
            (_, &[x, y]) => {
                let (first, second) = match op {
                    "add" if self.dtype(x).is_float() => (Some(-0.0), Some(-0.0)),
                    "add" => (Some(0.0), Some(0.0)),
                    "sub" => (None, Some(0.0)),
                    "mul" => (Some(1.0), Some(1.0)),
                    "div" | "trunc_div" => (None, Some(1.0)),
                    "maximum" if self.dtype(x).is_float() => (Some(f64::NEG_INFINITY), Some(f64::NEG_INFINITY)),
                    "minimum" if self.dtype(x).is_float() => (Some(f64::INFINITY), Some(f64::INFINITY)),
                    "logical_and" => (Some(1.0), Some(1.0)),
                    "logical_or" => (Some(0.0), Some(0.0)),
                    _ => return None,
                };
                match (first.and_then(|n| neutral(x, n)), second.and_then(|n| neutral(y, n))) {
                    (Some(()), _) => y,
                    (_, Some(())) => x,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let whole = operands.iter().all(|&v| broadcast(&self.shape(v), &self.shape(same)) == Some(self.shape(same)));
        whole.then_some(same)
    }

    /// An elementwise operator on results of reductions, done where the reduced dimensions are still there as ones.
    fn on_kept(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        let scalar = |v: Value| {
            let source = self.tables.repeats.get(&v).copied().unwrap_or(v);
            (self.rank(source) == 0).then_some(source)
        };
        let found = operands.iter().map(|&v| self.tables.kept.get(&v).copied().or_else(|| scalar(v)));
        let Some(all) = found.collect::<Option<SmallVec<[Value; 3]>>>() else { return Ok(None) };
        let mut shapes = all.iter().map(|&v| self.shape(v)).filter(|s| !s.is_empty());
        let Some(first) = shapes.next() else { return Ok(None) };
        let dropped = operands.iter().map(|&v| self.shape(v)).max_by_key(smallvec::SmallVec::len);
        let (true, Some(dropped)) = (shapes.all(|s| s == first), dropped) else { return Ok(None) };
        let Some(value) = self.emit(op, attrs, &all)?.and_then(|v| v.first().copied()) else { return Ok(None) };
        let result = self.reshape(value, &dropped)?;
        self.tables.kept.insert(result, value);
        self.gives(result)
    }

    /// An elementwise operator on values that only have ones in front of others, done on these.
    fn on_narrow(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        let narrow = |v: Value| {
            let source = self.tables.repeats.get(&v).copied()?;
            (self.rank(source) == 0 || self.low.ty(source).numel() == self.low.ty(v).numel()).then_some(source)
        };
        let Some(all) = operands.iter().map(|&v| narrow(v)).collect::<Option<SmallVec<[Value; 3]>>>() else {
            return Ok(None);
        };
        let mut shapes = all.iter().map(|&v| self.shape(v)).filter(|s| !s.is_empty());
        let Some(first) = shapes.next() else { return Ok(None) };
        let whole = operands.first().map(|&v| self.shape(v)).unwrap_or_default();
        if !shapes.all(|s| s == first) || operands.iter().any(|&v| self.shape(v) != whole) {
            return Ok(None);
        }
        let Some(value) = self.emit(op, attrs, &all)?.and_then(|v| v.first().copied()) else { return Ok(None) };
        let result = self.reshape(value, &whole)?;
        if result != value {
            self.tables.repeats.insert(result, value);
        }
        self.gives(result)
    }

    /// An element of an elementwise operator, where it is exact.
    fn computed(
        &self,
        op: &str,
        attrs: &[(&str, AttrValue)],
        operands: &[Value],
        known: &[Number],
    ) -> Option<(Number, DType)> {
        let def = find(op)?;
        let Kernel::Element(element) = def.kernel else { return None };
        let attrs = def.attrs(attrs).ok()?;
        let types: Vec<TensorType> = operands.iter().map(|&v| TensorType::scalar(self.dtype(v))).collect();
        let types: SmallVec<[&TensorType; 4]> = types.iter().collect();
        let call = Call { op: def, attrs: &attrs, operands: &types };
        let ty = call.infer().ok()?.into_iter().next()?;
        let mut fetch = |i: usize, _: &[usize]| known.get(i).copied().ok_or(crate::ops::EvalError::IndexOutOfRange);
        let number = element(&call, 0, &[], &mut fetch).ok()?;
        Some((ty.dtype.store(number)?, ty.dtype))
    }

    /// As [`elementwise`](Self::elementwise), for a node on the way.
    pub(super) fn part_of(
        &mut self,
        op: &str,
        attrs: &[(&str, AttrValue)],
        operands: &[Value],
    ) -> Result<Value, Refusal> {
        let operands = self.unrepeated(operands);
        self.part(op, attrs, &operands)
    }

    /// One value as what the operation gives.
    pub(super) fn gives(&self, value: Value) -> Converted {
        Ok(Some(Values::from_elem(value, 1)))
    }
}

/// A dimension as an index below `rank`.
pub(super) fn dimension(dim: i64, rank: usize) -> Result<usize, Refusal> {
    usize::try_from(dim)
        .ok()
        .filter(|&d| d < rank)
        .ok_or_else(|| Refusal::new(format!("has no dimension {dim} in a tensor of {rank} dimensions")))
}

/// Dimensions as an attribute.
pub(super) fn usizes(all: &[usize]) -> AttrValue {
    ints(&all.iter().map(|&d| d as i64).collect::<Vec<_>>())
}

/// Whether the numbers are different dimensions of a tensor of `rank` dimensions.
pub(super) fn distinct(dims: &[usize], rank: usize) -> bool {
    dims.iter().enumerate().all(|(i, &d)| d < rank && !dims[..i].contains(&d))
}

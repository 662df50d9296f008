//! The work of one execution with the layouts its operands have: what is really launched, computed and moved.

use smallvec::SmallVec;

use super::key::{KernelKey, KeyOperand};
use crate::ir::{AttrValue, Attrs, DType, Layout, TensorType};
use crate::ops::{Arithmetic, Call, Family, KernelClass, Launch, LayoutRule, OpDef, Unit};

/// Work counts that know strides: aliases are free and an expanded operand is read once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorkWithLayout {
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// The part of them that is read from operands or written to results, once each: not what one step leaves to the next.
    pub outer_bytes: f64,
    /// Kernels launched; 0 for an alias.
    pub launches: u32,
    pub unit: Unit,
}

impl KernelKey {
    /// Whether it launches a kernel that a GPU can be asked to run alone. What stands for all operators of a kernel cannot: its key
    /// does not say which these are.
    pub fn can_be_measured(&self) -> bool {
        let stands_for_others = self.def().is_some_and(|def| def.arithmetic() == Arithmetic::Fused);
        !stands_for_others && WorkWithLayout::of_key(self).is_some_and(|w| w.launches > 0)
    }
}

impl WorkWithLayout {
    /// An alias: nothing runs.
    pub(crate) const FREE: WorkWithLayout =
        WorkWithLayout { flops: 0.0, bytes: 0.0, outer_bytes: 0.0, launches: 0, unit: Unit::Vector };

    /// The work of `call`, whose operands lie in memory as `layouts` says.
    pub(crate) fn of_call(call: &Call, layouts: &[&Layout]) -> WorkWithLayout {
        let outputs = call.types();
        if let (LayoutRule::View(view), Some(&first)) = (call.op.layout, layouts.first())
            && (0..outputs.len()).all(|slot| view(call, slot, first).is_some())
        {
            return WorkWithLayout::FREE;
        }
        let work = call.work(&outputs);
        if work.kernels == 0 {
            return WorkWithLayout::FREE;
        }
        let read = match call.op.family {
            Family::Elementwise => operand_bytes(call.operands, layouts, Layout::distinct_elements),
            _ => {
                let all = operand_bytes(call.operands, layouts, |_, shape| shape.iter().product());
                let distinct = operand_bytes(call.operands, layouts, Layout::distinct_elements);
                // An operator may read less than its operands hold (a lookup); only then can the repeats exceed it.
                let read = (work.bytes_read - (all - distinct)).max(0.0);
                // One kernel gets what it reads again and again, such as the rows of a small table, from the cache.
                if work.kernels == 1 { read.min(distinct) } else { read }
            }
        };
        let copied = copied_rows(call, layouts);
        let further = (call.op.further_work)(call, layouts);
        WorkWithLayout {
            flops: work.flops + further.flops,
            outer_bytes: read + work.bytes_written,
            bytes: read + work.bytes_written + 2.0 * copied + further.bytes_read + further.bytes_written,
            launches: work.kernels + u32::from(copied > 0.0) + further.kernels,
            unit: work.unit,
        }
    }

    /// The work of an execution of `key`; `None` if the operator is opaque or refuses the operands.
    pub(crate) fn of_key(key: &KernelKey) -> Option<WorkWithLayout> {
        let parts = CallParts::of_key(key)?;
        let types: SmallVec<[&TensorType; 4]> = parts.types.iter().collect();
        let layouts: SmallVec<[&Layout; 4]> = parts.layouts.iter().collect();
        let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
        call.infer().ok()?;
        let mut work = WorkWithLayout::of_call(&call, &layouts);
        if work.launches > 0 {
            // Casts on the fly: the call is typed after them, memory is read before them.
            let distinct = |o: &KeyOperand, l: &Layout| l.distinct_elements(&o.ty.shape) as f64;
            for ((operand, ty), layout) in key.operands.iter().zip(&parts.types).zip(&parts.layouts) {
                let change = operand.ty.dtype.bytes() as f64 - ty.dtype.bytes() as f64;
                work.bytes += change * distinct(operand, layout);
                work.outer_bytes += change * distinct(operand, layout);
            }
        }
        Some(work)
    }
}

/// The bytes of rows that are copied first: in front of a product with a matrix, if they do not lie at one distance from each
/// other, and in front of a norm, if they are not dense.
fn copied_rows(call: &Call, layouts: &[&Layout]) -> f64 {
    let ([x, rest @ ..], Some(layout)) = (call.operands, layouts.first()) else { return 0.0 };
    let is_copied = match call.op.launch {
        _ if x.numel() == 0 => false,
        Launch::Product if x.rank() > 2 && rest.first().is_some_and(|y| y.rank() == 2) => {
            let columns = x.shape[x.rank() - 1];
            layout.reshaped(&x.shape, &[x.numel() / columns, columns]).is_none()
        }
        Launch::Rows => !layout.is_contiguous(&x.shape),
        _ => false,
    };
    if is_copied { (x.numel() * x.dtype.bytes()) as f64 } else { 0.0 }
}

/// A call rebuilt from a key: attributes with the defaults and neutral values filled in, element types made equal
/// where the kernel casts on the fly.
#[derive(Clone, Debug)]
pub(crate) struct CallParts {
    pub def: &'static OpDef,
    pub attrs: Attrs,
    pub types: Vec<TensorType>,
    pub layouts: Vec<Layout>,
}

impl CallParts {
    /// Which kernels the call runs.
    pub(crate) fn kernels(&self) -> KernelClass {
        let types: SmallVec<[&TensorType; 4]> = self.types.iter().collect();
        let layouts: SmallVec<[&Layout; 4]> = self.layouts.iter().collect();
        let call = Call { op: self.def, attrs: &self.attrs, operands: &types };
        (self.def.special_kernels)(&call, &layouts).unwrap_or(self.def.kernels)
    }

    pub(crate) fn of_key(key: &KernelKey) -> Option<CallParts> {
        let def = key.def()?;
        let value = |name: &str| key.attrs.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        let neutral = |name: &str| match name {
            "eps" => Some(AttrValue::float(1e-5)),
            "scale" => Some(AttrValue::float(0.125)),
            "value" => Some(AttrValue::float(0.0)),
            "p" | "alpha" => Some(AttrValue::float(0.1)),
            _ => None,
        };
        let attrs = def.attrs.iter().map(|a| {
            let default = a.default.value().filter(|v| *v != AttrValue::None);
            value(a.name).or(default).or_else(|| neutral(a.name)).or_else(|| a.default.value())
        });
        let attrs: Attrs = attrs.collect::<Option<_>>()?;
        let mut types: Vec<TensorType> = key.operands.iter().map(|o| o.ty.clone()).collect();
        if def.family == Family::Elementwise {
            let first = usize::from(def.arithmetic() == Arithmetic::Select);
            if let Some(wide) = types.iter().skip(first).map(|t| t.dtype).max_by_key(|d| promotion_rank(*d)) {
                types.iter_mut().skip(first).for_each(|t| t.dtype = wide);
            }
        }
        let layouts = key.operands.iter().map(|o| o.layout.layout(&o.ty.shape)).collect();
        Some(CallParts { def, attrs, types, layouts })
    }
}

/// Floats above integers above bool, wider above narrower.
fn promotion_rank(dtype: DType) -> (bool, bool, usize) {
    (dtype.is_float(), dtype != DType::Bool, dtype.bytes())
}

fn operand_bytes(types: &[&TensorType], layouts: &[&Layout], elements: impl Fn(&Layout, &[usize]) -> usize) -> f64 {
    types.iter().zip(layouts).map(|(t, l)| (elements(l, &t.shape) * t.dtype.bytes()) as f64).sum()
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::*;
    use crate::ir::{AttrValue, DType, Shape};
    use crate::ops::find;

    fn work(key: &str) -> WorkWithLayout {
        WorkWithLayout::of_key(&key.parse().unwrap()).unwrap()
    }

    #[test]
    fn convolutions_and_steps_move_what_their_kernels_move() {
        let filters = "stride=[1, 1], padding=[0, 0], dilation=[1, 1]";
        let plain = work(&format!("conv2d(f32[1, 2, 4, 4], f32[3, 2, 1, 1]; {filters})"));
        let biased = work(&format!("conv2d(f32[1, 2, 4, 4], f32[3, 2, 1, 1], f32[3]; {filters})"));
        let strided = work("conv2d(f32[1, 2, 4, 4], f32[3, 2, 1, 1]; stride=[2, 2], padding=[0, 0], dilation=[1, 1])");
        assert_eq!(strided.bytes, 4.0 * (2.0 * 4.0 + 6.0 + 3.0 * 4.0));
        let result = 4.0 * 3.0 * 16.0;
        assert_eq!((biased.launches, biased.bytes), (2, plain.bytes + 4.0 * 3.0 + 2.0 * result));
        let sum = work("logsumexp(f32[64, 1024]; dim=[1])");
        assert!(sum.launches == 9 && sum.bytes > 6.0 * 4.0 * 64.0 * 1024.0);
    }

    #[test]
    fn rows_of_a_small_table_are_read_from_memory_once() {
        let read = work("index(f16[4, 64], i64[1024]; dims=[0])").bytes - 2.0 * 1024.0 * 64.0;
        assert_eq!(read, 2.0 * 4.0 * 64.0 + 8.0 * 1024.0);
    }

    #[test]
    fn rows_that_are_not_dense_are_copied_in_front_of_a_norm() {
        let dense = work("layer_norm(f32[4, 8, 16], f32[16]; normalized_shape=[16])");
        let permuted = work("layer_norm(f32[4, 8, 16] @order[1, 0, 2], f32[16]; normalized_shape=[16])");
        assert_eq!((permuted.launches, permuted.bytes), (dense.launches + 1, dense.bytes + 2.0 * 2048.0));
    }

    #[test]
    fn rows_with_gaps_are_copied_in_front_of_a_product() {
        let dense = work("linear(f32[4, 8, 16], f32[32, 16])");
        let gaps = work("linear(f32[4, 8, 16] @strides[256, 16, 1], f32[32, 16])");
        assert_eq!((gaps.launches, gaps.bytes), (dense.launches + 1, dense.bytes + 2.0 * 2048.0));
        let one = work("linear(f32[4, 1, 16] @strides[256, 16, 1], f32[32, 16])");
        assert_eq!(one.launches, 1);
    }

    fn ty(shape: &[usize]) -> TensorType {
        TensorType::new(DType::F32, Shape::from_slice(shape)).unwrap()
    }

    #[test]
    fn a_reshape_costs_a_copy_only_where_strides_demand_one() {
        let x = ty(&[4, 3]);
        let def = find("reshape").unwrap();
        let attrs = [AttrValue::shape(&[12])];
        let call = Call { op: def, attrs: &attrs, operands: &[&x] };
        let dense = Layout::contiguous(&x.shape);
        assert_eq!(WorkWithLayout::of_call(&call, &[&dense]), WorkWithLayout::FREE);
        let transposed = Layout { strides: SmallVec::from_slice(&[1, 4]), offset: 0 };
        let copy = WorkWithLayout::of_call(&call, &[&transposed]);
        assert_eq!((copy.bytes, copy.launches), (96.0, 1));
    }

    #[test]
    fn an_expanded_operand_is_read_once() {
        let x = ty(&[8, 5]);
        let call = Call { op: find("add").unwrap(), attrs: &[], operands: &[&x, &x] };
        let dense = Layout::contiguous(&x.shape);
        let expanded = Layout { strides: SmallVec::from_slice(&[0, 1]), offset: 0 };
        assert_eq!(WorkWithLayout::of_call(&call, &[&dense, &expanded]).bytes, (160 + 20 + 160) as f64);
    }

    #[test]
    fn keys_carry_enough_to_count_work() {
        for (text, bytes) in [
            ("add(f32[8, 5], f32[8, 5] @strides[0, 1])", 340.0),
            ("add(bf16[8, 5], f32[8, 5])", 80.0 + 160.0 + 160.0),
            ("cast(f32[8]; dtype=bf16)", 48.0),
            ("contiguous(f32[4, 3] @order[1, 0])", 96.0),
            ("contiguous(f32[4, 3])", 0.0),
        ] {
            let key: KernelKey = text.parse().unwrap();
            assert_eq!(WorkWithLayout::of_key(&key).unwrap().bytes, bytes, "{text}");
        }
    }

    #[test]
    fn a_cast_to_the_same_type_is_free() {
        let x = ty(&[8]);
        let attrs = [AttrValue::DType(DType::F32)];
        let call = Call { op: find("cast").unwrap(), attrs: &attrs, operands: &[&x] };
        assert_eq!(WorkWithLayout::of_call(&call, &[&Layout::contiguous(&[8])]), WorkWithLayout::FREE);
    }
}

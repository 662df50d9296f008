//! Folded constants against the operators' own semantics, element by element.

use std::sync::Arc;

use proptest::prelude::*;
use smallvec::SmallVec;

use super::{Affine, Constant, Region, canonical, fold};
use crate::ir::{AttrValue, Attrs, DType, Number, Shape, TensorType, unflatten};
use crate::ops::{Call, EvalError, canonical_attrs, find};

fn ty(dtype: DType, shape: &[usize]) -> TensorType {
    TensorType::new(dtype, Shape::from_slice(shape)).unwrap()
}

/// Folds the call and compares every element with the kernel. Gives the folded constant, if there is one.
fn folded(op: &str, given: &[(&str, AttrValue)], operands: &[(TensorType, Constant)]) -> Option<Constant> {
    let def = find(op).unwrap();
    let mut attrs: Attrs = def.attrs(given).unwrap();
    let types: Vec<&TensorType> = operands.iter().map(|(t, _)| t).collect();
    canonical_attrs(def, &mut attrs, &types);
    let call = Call { op: def, attrs: &attrs, operands: &types };
    let outputs = call.infer().unwrap();
    let constants: Vec<Constant> = operands.iter().map(|(t, c)| canonical(c.clone(), t)).collect();
    let refs: Vec<&Constant> = constants.iter().collect();
    let result = fold(&call, 0, &refs, &outputs[0])?.value;
    let mut fetch = |i: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(operands[i].1.at(types[i], at)) };
    for flat in 0..outputs[0].numel() {
        let index = unflatten(&outputs[0].shape, flat);
        let (mut base, mut at) = (index.clone(), 0);
        for d in def.kernel.axes(&call).unwrap_or_default() {
            at = at * outputs[0].shape[d] + index[d];
            base[d] = 0;
        }
        let expected = def.kernel.compute(&call, 0, &base, &mut fetch).unwrap()[at];
        assert_eq!(Some(result.at(&outputs[0], &index)), outputs[0].dtype.store(expected), "{op} at {index:?}");
    }
    Some(result)
}

fn affine(offset: i64, coefficients: &[i64]) -> Constant {
    Constant::Affine(Affine { offset, coefficients: SmallVec::from_slice(coefficients) })
}

proptest! {
    #[test]
    fn arithmetic_on_formulas(a in -5_i64..6, p in -3_i64..4, q in -3_i64..4, b in -5_i64..6, r in -3_i64..4, op in 0_usize..9) {
        let op = ["add", "sub", "le", "lt", "ge", "gt", "eq", "ne", "mul"][op];
        let t = ty(DType::I64, &[3, 4]);
        let x = (t.clone(), affine(a, &[p, q]));
        let y = (t.clone(), affine(b, &[0, r]));
        folded(op, &[], &[x.clone(), y]);
        let scalar = (TensorType::scalar(DType::I64), Constant::Uniform(b.into()));
        prop_assert!(folded(op, &[], &[x, scalar]).is_some());
    }

    #[test]
    fn limits_and_choices(a in -5_i64..6, p in -3_i64..4, q in -3_i64..4, low in -9_i64..0, high in 0_i64..9, c in 0_i64..2) {
        let t = ty(DType::I64, &[3, 4]);
        let x = (t.clone(), affine(a, &[p, q]));
        folded("clamp", &[("min", AttrValue::Int(low)), ("max", AttrValue::Int(high))], std::slice::from_ref(&x));
        let condition = (TensorType::scalar(DType::Bool), Constant::Uniform(c.into()));
        let scalar = (TensorType::scalar(DType::I64), Constant::Uniform(low.into()));
        prop_assert!(folded("where", &[], &[condition, x, scalar]).is_some());
    }

    #[test]
    fn conjunctions_of_comparisons(a in -4_i64..5, p in -2_i64..3, q in -2_i64..3, b in -4_i64..5, r in -2_i64..3, s in -2_i64..3) {
        let t = ty(DType::Bool, &[4, 5]);
        let mask = |offset, c: &[i64]| Constant::Region(Region::of_truth(vec![Affine { offset, coefficients: SmallVec::from_slice(c) }]));
        let (x, y) = ((t.clone(), mask(a, &[p, q])), (t, mask(b, &[r, s])));
        prop_assert!(folded("logical_and", &[], &[x.clone(), y]).is_some());
        prop_assert!(folded("logical_not", &[], &[x]).is_some());
    }

    #[test]
    fn functions_of_masks_of_numbers(a in -4_i64..5, p in -2_i64..3, b in -4_i64..5, r in -2_i64..3, n in -2_i64..3, op in 0_usize..6, diagonal in -2_i64..3) {
        let t = ty(DType::F32, &[4, 5]);
        let mask = |offset, c: &[i64], inside: f64, outside: f64| {
            let bounds = vec![Affine { offset, coefficients: SmallVec::from_slice(c) }];
            Constant::Region(Region { bounds, inside: Number::float(inside), outside: Number::float(outside) })
        };
        let (low, high) = (f64::NEG_INFINITY, n as f64);
        let op = ["add", "sub", "mul", "eq", "maximum", "minimum"][op];
        let (x, y) = (mask(a, &[p, 1], 0.0, low), mask(b, &[-1, r], high, low));
        folded(op, &[], &[(t.clone(), x.clone()), (t.clone(), y)]);
        let number = (TensorType::scalar(DType::F32), Constant::Uniform(Number::float(high)));
        prop_assert!(folded(op, &[], &[(t.clone(), x.clone()), number]).is_some());
        for side in ["tril", "triu"] {
            folded(side, &[("diagonal", AttrValue::Int(diagonal))], &[(t.clone(), x.clone())]);
        }
    }

    #[test]
    fn views_of_formulas(a in -5_i64..6, p in -3_i64..4, q in -3_i64..4, start in 0_i64..3, step in 1_i64..3) {
        let x = (ty(DType::I64, &[3, 5]), affine(a, &[p, q]));
        let dims = AttrValue::Ints(SmallVec::from_slice(&[1, 0]));
        prop_assert!(folded("permute", &[("dims", dims)], std::slice::from_ref(&x)).is_some());
        let slice = [("dim", AttrValue::Int(1)), ("start", AttrValue::Int(start)), ("end", AttrValue::Int(5)), ("step", AttrValue::Int(step))];
        prop_assert!(folded("slice", &slice, std::slice::from_ref(&x)).is_some());
        let shape = [("shape", AttrValue::shape(&[3, 1, 5]))];
        prop_assert!(folded("reshape", &shape, std::slice::from_ref(&x)).is_some());
        let wide = [("shape", AttrValue::shape(&[2, 3, 5]))];
        prop_assert!(folded("expand", &wide, &[x]).is_some());
    }
}

#[test]
fn a_causal_mask_of_a_million_elements_is_one_inequality() {
    let column = (ty(DType::I64, &[1, 1, 1, 1024]), affine(0, &[0, 0, 0, 1]));
    let row = (ty(DType::I64, &[1, 1, 1024, 1]), affine(0, &[0, 0, 1, 0]));
    let def = find("le").unwrap();
    let call = Call { op: def, attrs: &[], operands: &[&column.0, &row.0] };
    let mask_type = ty(DType::Bool, &[1, 1, 1024, 1024]);
    let mask = fold(&call, 0, &[&column.1, &row.1], &mask_type).unwrap().value;
    assert!(mask.is_causal_mask(&mask_type));
    assert_eq!(mask.at(&mask_type, &[0, 0, 700, 701]), false.into());
    assert_eq!(mask.at(&mask_type, &[0, 0, 700, 700]), true.into());
}

#[test]
fn an_additive_causal_mask_of_a_million_elements_is_one_inequality() {
    // As most programs make it: the upper triangle of -inf.
    let t = ty(DType::F32, &[1024, 1024]);
    let low = Number::float(f64::NEG_INFINITY);
    let attrs: Attrs = find("triu").unwrap().attrs(&[("diagonal", AttrValue::Int(1))]).unwrap();
    let call = Call { op: find("triu").unwrap(), attrs: &attrs, operands: &[&t] };
    let mask = fold(&call, 0, &[&Constant::Uniform(low)], &t).unwrap().value;
    let number = TensorType::scalar(DType::F32);
    let call = Call { op: find("eq").unwrap(), attrs: &[], operands: &[&t, &number] };
    let bools = ty(DType::Bool, &[1024, 1024]);
    let kept = fold(&call, 0, &[&mask, &Constant::Uniform(Number::float(0.0))], &bools).unwrap().value;
    assert!(kept.is_causal_mask(&bools));
}

#[test]
fn what_a_band_leaves_out_is_one_region_however_it_is_made() {
    let t = ty(DType::F32, &[3, 4]);
    let data = |v: [f64; 12]| canonical(Constant::Dense(v.iter().map(|&v| Number::float(v)).collect()), &t);
    let outside = data([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    let Constant::Region(region) = &outside else { panic!("{outside:?}") };
    assert_eq!((region.inside, region.outside, region.bounds.len()), (Number::float(0.0), Number::float(1.0), 2));
    let columns = data([7.0, 7.0, 2.0, 2.0, 7.0, 7.0, 2.0, 2.0, 7.0, 7.0, 2.0, 2.0]);
    assert!(matches!(columns, Constant::Region(_)));
}

#[test]
fn tril_and_comparison_give_the_same_constant() {
    let ones = (ty(DType::Bool, &[6, 6]), Constant::Uniform(true.into()));
    let tril = folded("tril", &[], &[ones]).unwrap();
    assert!(tril.is_causal_mask(&ty(DType::Bool, &[6, 6])));
    let off = (ty(DType::Bool, &[6, 6]), Constant::Uniform(true.into()));
    let shifted = folded("tril", &[("diagonal", AttrValue::Int(1))], &[off]).unwrap();
    assert!(!shifted.is_causal_mask(&ty(DType::Bool, &[6, 6])));
}

#[test]
fn differences_of_positions_are_one() {
    let x = (ty(DType::I64, &[2, 7]), affine(0, &[0, 1]));
    let before = (ty(DType::I64, &[2, 1]), affine(-1, &[0, 0]));
    let attrs = [("dim", AttrValue::Int(1)), ("n", AttrValue::Int(1))];
    assert_eq!(folded("diff", &attrs, &[x.clone(), before]), Some(Constant::Uniform(Number::Int(1))));
    // -9, then 0 and what follows: one large step, and small ones.
    let gap = (ty(DType::I64, &[2, 1]), affine(-9, &[0, 0]));
    let Some(Constant::Region(region)) = folded("diff", &attrs, &[x, gap]) else { panic!("no region") };
    assert_eq!((region.inside, region.outside), (Number::Int(1), Number::Int(9)));
}

#[test]
fn a_wide_formula_in_a_narrow_type_is_not_folded() {
    // 250 and more do not fit into 8 bits: the formula would be wrong.
    let x = (ty(DType::U8, &[2, 128]), affine(0, &[0, 1]));
    let y = (ty(DType::U8, &[2, 128]), Constant::Uniform(Number::Int(250)));
    assert!(!matches!(folded("add", &[], &[x, y]), Some(Constant::Affine(_))));
}

fn full(dtype: DType, value: impl Into<Number>) -> (TensorType, Constant) {
    (TensorType::scalar(dtype), Constant::Uniform(value.into()))
}

#[test]
fn integers_fold_exactly_and_wrap_around() {
    let two_53 = 1_i64 << 53;
    let sum = folded("add", &[], &[full(DType::I64, two_53), full(DType::I64, 1)]);
    assert_eq!(sum, Some(Constant::Uniform(Number::Int(two_53 + 1))));
    let product = folded("mul", &[], &[full(DType::I64, 1_i64 << 62), full(DType::I64, 4)]);
    assert_eq!(product, Some(Constant::Uniform(Number::Int(0))));
    let narrow = folded("add", &[], &[full(DType::I8, 127), full(DType::I8, 1)]);
    assert_eq!(narrow, Some(Constant::Uniform(Number::Int(-128))));
    let cube = folded("pow", &[("exponent", AttrValue::Int(3))], &[full(DType::I64, 3_000_000_019)]);
    assert_eq!(cube, Some(Constant::Uniform(Number::Int(3_000_000_019_i64.wrapping_pow(3)))));
}

#[test]
fn zeros_keep_their_sign() {
    let zero = folded("mul", &[], &[full(DType::F32, 0.0), full(DType::F32, -1.0)]);
    assert_eq!(zero, Some(Constant::Uniform(Number::float(-0.0))));
    // 0, 1, 2 negated is no formula: the first element is -0.0.
    let counted = (ty(DType::F32, &[3]), affine(0, &[1]));
    assert!(matches!(folded("neg", &[], &[counted]), Some(Constant::Dense(_))));
}

/// Whether operator `op` of one or two such operands folds bit for bit.
fn folds_exactly(op: &str, operands: &[&(TensorType, Constant)]) -> bool {
    let types: Vec<&TensorType> = operands.iter().map(|(ty, _)| ty).collect();
    let constants: Vec<&Constant> = operands.iter().map(|(_, constant)| constant).collect();
    let call = Call { op: find(op).unwrap(), attrs: &[], operands: &types };
    fold(&call, 0, &constants, &call.infer().unwrap()[0]).unwrap().exact
}

#[test]
fn functions_that_every_library_computes_differently_do_not_fold_exactly() {
    let one = full(DType::F32, 1.0);
    let exact = |op: &str| folds_exactly(op, &[&one]);
    assert!(exact("neg") && exact("reciprocal"));
    assert!(!exact("exp") && !exact("rsqrt") && !exact("sin"));
}

#[test]
fn a_square_root_is_not_exact_where_a_library_rounds_it_the_wrong_way() {
    // libtorch on a CPU gives 4095.9998 for this one; 4095.9995 is nearer.
    assert!(!folds_exactly("sqrt", &[&full(DType::F32, 16_777_213.0)]));
}

#[test]
fn which_zero_is_larger_does_not_fold_exactly() {
    let [plus, minus] = [0.0, -0.0].map(|zero| full(DType::F32, zero));
    assert!(!folds_exactly("maximum", &[&plus, &minus]) && !folds_exactly("minimum", &[&minus, &plus]));
    let seven = full(DType::I32, 7);
    assert!(folds_exactly("maximum", &[&seven, &seven]));
}

#[test]
fn arithmetic_on_8_bit_floats_does_not_fold_exactly() {
    let zero = full(DType::F8E5M2, -0.0);
    assert!(!folds_exactly("abs", &[&zero]));
    assert!(folds_exactly("clone", &[&zero]));
}

#[test]
fn ranges_are_counted_in_doubles_for_every_type_but_i64() {
    let start = (1_i64 << 53) + 1;
    let counted = |dtype: DType| {
        let def = find("arange").unwrap();
        let given =
            [("start", AttrValue::Int(start)), ("end", AttrValue::Int(start + 2)), ("dtype", AttrValue::DType(dtype))];
        let attrs = def.attrs(&given).unwrap();
        Call { op: def, attrs: &attrs, operands: &[] }.infer().unwrap()[0].numel()
    };
    // As doubles, they are 4 apart.
    assert_eq!((counted(DType::I64), counted(DType::I32)), (2, 4));
}

#[test]
fn a_mask_of_one_row_is_the_same_for_all_rows_that_it_is_broadcast_to() {
    let positions = (ty(DType::I64, &[1, 1, 5]), affine(0, &[0, 0, 1]));
    let zero = (TensorType::scalar(DType::I64), Constant::Uniform(0.into()));
    // Not equal to 0: a list of bools, which one inequality gives.
    let row: Arc<[Number]> = (0..5).map(|n| Number::from(n != 0)).collect();
    let row = canonical(Constant::Dense(row), &ty(DType::Bool, &[1, 1, 5]));
    assert!(matches!(row, Constant::Region(_)));
    folded("ne", &[], &[positions, zero]);
    let causal =
        Constant::Region(Region::of_truth(vec![Affine { offset: 0, coefficients: SmallVec::from_slice(&[0, -1, 1]) }]));
    let wide = (ty(DType::Bool, &[2, 4, 5]), causal);
    assert!(folded("logical_and", &[], &[wide, (ty(DType::Bool, &[1, 1, 5]), row)]).is_some());
}

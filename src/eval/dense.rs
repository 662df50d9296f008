//! Matrix products of tensors that are known whole: what evaluation on demand would take too long for.

use rayon::prelude::*;

use crate::ir::{Number, TensorType, flat_index, unflatten};
use crate::ops::{Call, EvalError, Line, contraction};

/// The steps that a matrix product over floats takes, as a product and a sum each; `None` for other operators.
pub fn product_steps(call: &Call, ty: &TensorType) -> Option<u64> {
    let first = vec![0; ty.rank()];
    let is_float = ty.dtype.is_float() && ty.numel() > 0;
    let length = contraction(call, &first).filter(|_| is_float)?.length;
    Some(ty.numel() as u64 * length as u64)
}

/// All elements of a matrix product over floats, added up in f64 and then rounded to its type. The elements of the operands, too, are
/// in row-major order. `None` for other operators.
///
/// # Errors
/// Operands that have fewer elements than their types say.
pub fn product(call: &Call, ty: &TensorType, operands: &[Vec<Number>]) -> Option<Result<Vec<Number>, EvalError>> {
    product_steps(call, ty)?;
    let operands: Vec<Vec<f64>> = operands.iter().map(|o| o.iter().map(|v| v.to_f64()).collect()).collect();
    let fetch = |operand: usize, index: &[usize]| {
        let value = operands.get(operand).and_then(|o| o.get(flat_index(&call.operands[operand].shape, index)));
        value.copied().ok_or(EvalError::IndexOutOfRange)
    };
    let element = |flat: usize| {
        let sum = contraction(call, &unflatten(&ty.shape, flat)).ok_or(EvalError::IndexOutOfRange)?;
        let [x, y] = [&sum.x, &sum.y].map(|line| along(call, &operands, line, sum.length));
        let total = x?.zip(y?).fold(0.0, |sum, (x, y)| sum + x * y);
        let value = sum.finish(Number::float(total), |o, at| fetch(o, at).map(Number::float))?;
        Ok(Number::float(ty.dtype.round(value.to_f64())))
    };
    Some((0..ty.numel()).into_par_iter().map(element).collect())
}

/// The elements along a line.
fn along<'a>(
    call: &Call,
    operands: &'a [Vec<f64>],
    line: &Line,
    length: usize,
) -> Result<impl Iterator<Item = f64> + use<'a>, EvalError> {
    let shape = &call.operands[line.operand].shape;
    let mut first = line.index.clone();
    first[line.axis] = 0;
    let (start, step) = (flat_index(shape, &first), shape[line.axis + 1..].iter().product::<usize>());
    let all = &operands[line.operand];
    if length > 0 && start + (length - 1) * step >= all.len() {
        return Err(EvalError::IndexOutOfRange);
    }
    Ok(all[start.min(all.len())..].iter().step_by(step.max(1)).take(length).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{GraphProgram, LazyEvaluator, Options, Program, Source};
    use crate::ir::{Value, text};

    /// Products of all layouts come out as on demand.
    #[test]
    fn products_at_once_are_those_on_demand() {
        for source in [
            "graph g(x: f32[3, 4], y: f32[4, 5]) { z = matmul(x, y) return z }",
            "graph g(x: f32[2, 1, 3, 4], y: f32[5, 4, 2]) { z = matmul(x, y) return z }",
            "graph g(x: f32[2, 3, 4], y: f32[4]) { z = matmul(x, y) return z }",
            "graph g(x: f16[2, 3, 4], y: f16[6, 4], b: f16[6]) { z = linear(x, y, b) return z }",
            "graph g(b: f32[5], x: f32[3, 4], y: f32[4, 5]) { z = addmm(b, x, y; beta=0.5, alpha=2.0) return z }",
            "graph g(x: f32[3, 0], y: f32[0, 5]) { z = matmul(x, y) return z }",
        ] {
            let graph = text::parse("test.mir", source).unwrap();
            let program = GraphProgram::new(&graph, 7);
            let value: Value = graph.outputs()[0].value;
            let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: 1 << 20 });
            let Source::Call { op, attrs, types, operands, .. } = program.source(value) else { panic!("{source}") };
            let call = Call { op, attrs, operands: &types };
            let known: Vec<Vec<Number>> = operands.iter().map(|&o| evaluator.tensor(o).unwrap()).collect();
            let all = product(&call, graph.ty(value), &known).unwrap().unwrap();
            assert_eq!(all, evaluator.tensor(value).unwrap(), "{source}");
        }
    }
}

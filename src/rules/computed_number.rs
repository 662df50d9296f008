//! Numbers that rules compute: whether a type holds them.

use super::expr::{Arithmetic, Expr, Scope};
use super::terms::Terms;
use crate::ir::DType;
use crate::ops::{is_in_range, keeps_both};

/// Whether a number beside tensors of type `dtype` is what `expr` says: nothing that it adds gets lost, and what is finite or not 0
/// stays so.
pub(super) fn is_held<T: Terms>(expr: &Expr, scope: &Scope<'_, T>, dtype: DType) -> bool {
    if !dtype.is_float() {
        return true;
    }
    let Some(value) = number(expr, scope) else { return true };
    let stays = is_in_range(dtype, value) || !value.is_finite() && has_infinite_part(expr, scope);
    stays && adds_up(expr, scope, dtype)
}

fn number<T: Terms>(expr: &Expr, scope: &Scope<'_, T>) -> Option<f64> {
    expr.eval(scope).ok()?.as_float()
}

/// Whether one of the numbers that it is computed from is not finite.
fn has_infinite_part<T: Terms>(expr: &Expr, scope: &Scope<'_, T>) -> bool {
    match expr {
        Expr::Arithmetic(_, a, b) => has_infinite_part(a, scope) || has_infinite_part(b, scope),
        Expr::Neg(a) => has_infinite_part(a, scope),
        _ => number(expr, scope).is_some_and(|value| !value.is_finite()),
    }
}

/// Whether all sums in an expression keep what is added.
fn adds_up<T: Terms>(expr: &Expr, scope: &Scope<'_, T>, dtype: DType) -> bool {
    match expr {
        Expr::Neg(a) => adds_up(a, scope, dtype),
        Expr::Arithmetic(how, a, b) => {
            let kept = match (how, number(a, scope), number(b, scope)) {
                (Arithmetic::Add, Some(x), Some(y)) => keeps_both(dtype, x, y),
                (Arithmetic::Sub, Some(x), Some(y)) => keeps_both(dtype, x, -y),
                _ => true,
            };
            kept && adds_up(a, scope, dtype) && adds_up(b, scope, dtype)
        }
        _ => true,
    }
}

//! How formulas are written down.

/// How formulas are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Every operator stands for itself: equal formulas are equal bit for bit.
    Operators,
    /// As sums of products, in which a sum stays one factor. What is 0 for finite elements only, as `x - x`, is left as the operator
    /// that gives it: it may be NaN, and it has a sign, which what divides by it tells apart.
    Products,
    /// Over the real numbers: products are multiplied out, exponentials and quotients have a normal form.
    Reals,
}

//! How formulas are written down.

/// How the elements of a pair are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub mode: Mode,
    /// Whether numbers inside of functions are rounded.
    pub rounds: bool,
    /// Whether functions in pieces, and elements that an integer chooses, are written down case by case.
    pub cases: bool,
}

impl Way {
    pub(super) const fn of(mode: Mode) -> Way {
        Way { mode, rounds: false, cases: false }
    }
}

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

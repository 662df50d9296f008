//! How equal the two sides of a rule are.

use std::cmp::Ordering;
use std::fmt;

use ordered_float::OrderedFloat;

/// How equal the two sides of a rule or of a proof are. Ordered: the strongest claim is the least, so
/// the tier of a proof is the maximum over its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Bit for bit.
    Exact,
    /// Over the real numbers; the order of floating-point operations may differ.
    Real,
    /// When intermediate rounding is ignored.
    Rounding,
    /// Only within this relative error.
    Approx(OrderedFloat<f64>),
}

impl Tier {
    /// Whether something is approximate, with no bound on how far.
    pub const ANY_ERROR: Tier = Tier::Approx(OrderedFloat(f64::INFINITY));

    /// Why a proof of tier `found` is too weak, where this is the weakest tier that is accepted. `output_error` bounds how far
    /// apart the outputs are; a stated error is one of the outputs, not of the steps.
    pub fn refuses(self, found: Tier, output_error: Option<f64>) -> Option<String> {
        if self == Tier::ANY_ERROR {
            return None;
        }
        match (self, found) {
            (_, Tier::Approx(step)) if !self.is_approx() => Some(format!(
                "equal only at tier approx: a step is within {step} of its own result; --tier approx accepts that"
            )),
            (Tier::Approx(accepted), Tier::Approx(step)) => match output_error {
                Some(error) if error <= accepted.0 => None,
                Some(error) => Some(format!("the outputs are within {error} only; --tier approx accepts that")),
                None => Some(format!(
                    "each approximate step is within {step} of its own result, which bounds no output; --tier approx accepts that"
                )),
            },
            (Tier::Exact | Tier::Real, Tier::Rounding) => {
                Some("equal only at tier rounding, since a value may leave the range of its type".to_owned())
            }
            _ if found > self => Some(format!("equal only at tier {found}")),
            _ => None,
        }
    }

    /// The error of an approximate step, where it is bounded.
    pub fn error(self) -> Option<f64> {
        match self {
            Tier::Approx(error) => Some(error.0).filter(|e| e.is_finite()),
            _ => None,
        }
    }

    fn is_approx(self) -> bool {
        matches!(self, Tier::Approx(_))
    }

    fn rank(self) -> (u8, OrderedFloat<f64>) {
        match self {
            Tier::Exact => (0, OrderedFloat(0.0)),
            Tier::Real => (1, OrderedFloat(0.0)),
            Tier::Rounding => (2, OrderedFloat(0.0)),
            Tier::Approx(error) => (3, error),
        }
    }
}

impl PartialOrd for Tier {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tier {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tier::Exact => f.write_str("exact"),
            Tier::Real => f.write_str("real"),
            Tier::Rounding => f.write_str("rounding"),
            Tier::Approx(error) => write!(f, "approx({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_tier_is_the_greatest() {
        let tiers = [Tier::Exact, Tier::Real, Tier::Rounding, Tier::Approx(1e-6.into()), Tier::Approx(1e-3.into())];
        assert!(tiers.is_sorted());
        assert_eq!(tiers.iter().max(), Some(&tiers[4]));
    }
}

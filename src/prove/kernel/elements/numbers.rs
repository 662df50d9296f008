//! Numbers inside of functions, such as the scale of scores inside of a softmax: formulas have to agree on them, and two programs
//! come to one number by different roundings.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use ordered_float::OrderedFloat;

use super::form::{Monomial, Product, is_representable, part_by_rounding};

/// The numbers that formulas have inside of functions: those that are apart by rounding count as the first of them.
pub(super) struct Numbers {
    precision: u64,
    /// By what they nearly are.
    known: BTreeMap<OrderedFloat<f64>, Vec<Known>>,
}

struct Known {
    /// Without factors.
    product: Product,
    /// The number of the type that it stands for. Another one is another number: somebody wrote it so.
    written: Option<BigRational>,
}

impl Numbers {
    /// For floats of `precision` bits.
    pub(super) fn new(precision: u64) -> Numbers {
        Numbers { precision, known: BTreeMap::new() }
    }

    /// What the number of `product` counts as.
    pub(super) fn settled(&mut self, product: &Product) -> BigRational {
        let number = &product.number;
        let Some(place) = number.to_f64().filter(|place| place.is_finite() && !number.is_one()) else {
            return number.clone();
        };
        let written = is_representable(number, self.precision).then_some(number);
        // Wider than what counts as rounding, since the place is rounded, too.
        let width = place.abs() * (0.5_f64).powi(self.precision.min(50) as i32 - 3);
        let near = OrderedFloat(place - width)..=OrderedFloat(place + width);
        for known in self.known.range_mut(near).flat_map(|(_, all)| all) {
            let is_other = written.is_some() && known.written.is_some() && known.written.as_ref() != written;
            let is_near = || {
                part_by_rounding(&known.product.number, number, self.precision)
                    && known.product.parts_by_less_than_its_share(product)
            };
            if known.product.number == *number || !is_other && is_near() {
                known.written = known.written.take().or_else(|| written.cloned());
                return known.product.number.clone();
            }
        }
        let bare = Product { factors: Monomial::new(), ..product.clone() };
        let known = Known { product: bare, written: written.cloned() };
        self.known.entry(OrderedFloat(place)).or_default().push(known);
        number.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(x: f64) -> BigRational {
        BigRational::from_float(x).unwrap()
    }

    fn product(number: BigRational) -> Product {
        Product::new(Monomial::new(), number)
    }

    #[test]
    fn numbers_that_rounding_parts_are_one_number() {
        let mut numbers = Numbers::new(24);
        let first = numbers.settled(&product(number(1.0 / 2.449_489_831_924_438_5)));
        assert_eq!(numbers.settled(&product(number(0.408_248_290_463_863_1))), first);
        assert_ne!(numbers.settled(&product(number(0.408_25))), first);
        assert_ne!(numbers.settled(&product(-first.clone())), first);
    }

    #[test]
    fn numbers_that_were_written_stay_apart() {
        let (one, other) = (f64::from(0.3_f32), f64::from(0.3_f32) + f64::from(f32::EPSILON) / 4.0);
        let mut numbers = Numbers::new(24);
        assert_eq!(numbers.settled(&product(number(one))), number(one));
        assert_eq!(numbers.settled(&product(number(other))), number(other));
        // Neither does a computed one in the middle join them.
        let mut numbers = Numbers::new(24);
        let middle = number(f64::midpoint(one, other));
        assert_eq!(numbers.settled(&product(middle.clone())), middle);
        assert_eq!(numbers.settled(&product(number(one))), middle);
        assert_eq!(numbers.settled(&product(number(other))), number(other));
    }
}

//! Sines and cosines over the real numbers: a product has one of them at most, and their angles have a normal form.
//!
//! Products of two are sums of two, by which squares of both add up to 1 and angles add up. The first number of an angle is not
//! negative, and where numbers round, no quarter turns are added to it.

use std::f64::consts::FRAC_PI_2;

use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

use super::form::{Atom, AtomId, Form, FormId, Function, Monomial, part_by_rounding};
use super::formulas::{Formulas, SIZE_PER_ELEMENT};
use crate::rules::Tier;

/// Quarter turns that are taken out of an angle: of many, rounding would leave another angle.
const MAX_TURNS: f64 = 16.0;

impl Formulas<'_> {
    /// The sine or the cosine of an angle.
    pub(super) fn wave(&mut self, function: Function, angle: &Form) -> Option<Form> {
        if let Some(form) = self.of_cases(angle, |elements, angle| elements.wave(function, angle)) {
            return Some(form);
        }
        let (turns, angle) = self.without_quarter_turns(angle);
        // A sine is the cosine a quarter turn ago.
        let from_cosine = (turns + if function == Function::Sine { 3 } else { 0 }) % 4;
        let (function, negative) = match from_cosine {
            0 => (Function::Cosine, false),
            1 => (Function::Sine, true),
            2 => (Function::Cosine, true),
            _ => (Function::Sine, false),
        };
        let mirrored = angle.products().first().is_some_and(|product| product.number.is_negative());
        let minus = BigRational::from_integer((-1).into());
        let angle = if mirrored { angle.scaled(&minus) } else { angle };
        let wave = match (angle.products().is_empty(), function) {
            (true, Function::Sine) => Form::default(),
            (true, _) => Form::number(BigRational::from_integer(1.into())),
            (false, _) => self.function(function, angle),
        };
        Some(if negative != (mirrored && function == Function::Sine) { wave.scaled(&minus) } else { wave })
    }

    /// Where numbers round: how many quarter turns, of 4, are added to an angle, and the rest of it.
    fn without_quarter_turns(&mut self, angle: &Form) -> (i64, Form) {
        let unturned = (0, angle.clone());
        let Some(added) = angle.products().iter().find(|product| product.factors.is_empty()) else { return unturned };
        let turns = added.number.to_f64().map_or(0.0, |number| (number / FRAC_PI_2).round());
        let Some(exact) = BigRational::from_float(turns * FRAC_PI_2) else { return unturned };
        let is_whole = turns != 0.0 && turns.abs() <= MAX_TURNS;
        if !self.way.rounds || !is_whole || !part_by_rounding(&added.number, &exact, self.precision) {
            return unturned;
        }
        self.tier = Tier::Rounding;
        let rest = angle.products().iter().filter(|product| *product != added).cloned().map(Form::product);
        ((turns as i64).rem_euclid(4), Form::sum(rest))
    }

    /// The sum that two sines or cosines among the factors make, which are taken out; nothing inside where there are no two.
    pub(super) fn product_of_waves(&mut self, factors: &mut Monomial) -> Option<Option<Form>> {
        let waves: Vec<(usize, Function, FormId)> = factors
            .iter()
            .enumerate()
            .filter_map(|(at, &atom)| self.real_wave(atom).map(|(f, id)| (at, f, id)))
            .collect();
        let &[(first, f, x), (second, g, y), ..] = &waves[..] else { return Some(None) };
        factors.remove(second);
        factors.remove(first);
        // `sin x cos y` rather than `cos x sin y`.
        let (f, x, g, y) = if f == Function::Cosine && g == Function::Sine { (g, y, f, x) } else { (f, x, g, y) };
        let (x, y) = (self.form(x), self.form(y));
        self.spend(1 + (x.size() + y.size()) / SIZE_PER_ELEMENT)?;
        let (apart, together) = (self.minus(x.clone(), &y), self.sum([x, y]));
        let of_result = if f == g { Function::Cosine } else { Function::Sine };
        let (apart, together) = (self.wave(of_result, &apart)?, self.wave(of_result, &together)?);
        let sum = match (f, g) {
            (Function::Sine, Function::Sine) => self.minus(apart, &together),
            _ => self.sum([apart, together]),
        };
        Some(Some(sum.scaled(&BigRational::new(1.into(), 2.into()))))
    }

    /// A sine or cosine of a real number, with its angle.
    fn real_wave(&self, atom: AtomId) -> Option<(Function, FormId)> {
        match *self.store.atom_of(atom) {
            Atom::Function(function @ (Function::Sine | Function::Cosine), angle) => {
                self.store.is_real(self.store.form(angle)).then_some((function, angle))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::equal;
    use crate::rules::Tier;

    #[test]
    fn angles_add_up() {
        let real = Some(Tier::Real);
        let angles = "t = permute(x; dims=[1, 0, 2])\n ";
        let of_sum = |function: &str| format!("{angles}a = add(x, t)\n y = {function}(a)");
        let parts = |ops: [&str; 3]| {
            let [first, second, join] = ops;
            format!(
                "{angles}c = cos(x)\n s = sin(x)\n v = cos(t)\n u = sin(t)\n p = mul({first})\n q = mul({second})\n y = {join}(p, q)"
            )
        };
        assert_eq!(equal(&of_sum("cos"), &parts(["c, v", "s, u", "sub"])), real);
        assert_eq!(equal(&of_sum("cos"), &parts(["c, v", "s, u", "add"])), None);
        assert_eq!(equal(&of_sum("sin"), &parts(["s, v", "c, u", "add"])), real);
        assert_eq!(equal(&of_sum("sin"), &parts(["s, v", "c, u", "sub"])), None);
    }

    #[test]
    fn squares_of_waves_are_known() {
        let real = Some(Tier::Real);
        let square = |function: &str| format!("v = {function}(x)\n y = mul(v, v)");
        let halved = |join: &str| {
            format!(
                "a = add(x, x)\n c = cos(a)\n o = number(; value=1.0, dtype=f32)\n s = {join}(o, c)\n \
                 h = number(; value=0.5, dtype=f32)\n y = mul(s, h)"
            )
        };
        assert_eq!(equal(&square("cos"), &halved("add")), real);
        assert_eq!(equal(&square("sin"), &halved("sub")), real);
        assert_eq!(equal(&square("sin"), &halved("add")), None);
        // The sine of what may be infinite is no number, and its square does not vanish against the other one.
        let whole =
            |of: &str| format!("r = {of}\n c = cos(r)\n s = sin(r)\n p = mul(c, c)\n q = mul(s, s)\n y = add(p, q)");
        let one = "e = sub(x, x)\n y = exp(e)";
        assert_eq!(equal(&whole("alias(x)"), one), real);
        assert_eq!(equal(&whole("reciprocal(x)"), one), None);
    }

    #[test]
    fn quarter_turns_make_one_of_the_other() {
        let shifted = |function: &str, by: &str| {
            format!("k = number(; value={by}, dtype=f32)\n a = add(x, k)\n y = {function}(a)")
        };
        let rounding = Some(Tier::Rounding);
        assert_eq!(equal(&shifted("sin", "1.5707964"), "y = cos(x)"), rounding);
        assert_eq!(equal(&shifted("cos", "1.5707964"), "v = sin(x)\n y = neg(v)"), rounding);
        assert_eq!(equal(&shifted("cos", "-1.5707964"), "y = sin(x)"), rounding);
        assert_eq!(equal(&shifted("sin", "3.1415927"), "v = sin(x)\n y = neg(v)"), rounding);
        assert_eq!(equal(&shifted("cos", "1.5707964"), "y = sin(x)"), None);
        assert_eq!(equal(&shifted("sin", "1.5708"), "y = cos(x)"), None);
        assert_eq!(equal("n = neg(x)\n y = sin(n)", "v = sin(x)\n y = neg(v)"), Some(Tier::Real));
        assert_eq!(equal("n = neg(x)\n y = cos(n)", "y = cos(x)"), Some(Tier::Real));
    }
}

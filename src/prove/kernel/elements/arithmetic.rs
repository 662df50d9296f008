//! What a function of the elements at one place is, as a formula over theirs.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use smallvec::SmallVec;

use super::form::{Atom, Form, FormId, Function, Operation, Product};
use super::formulas::{Formulas, SIZE_PER_ELEMENT, over_reals};
use super::mode::Mode;
use super::rows::sign_of_sum;
use crate::ir::{DType, Number};
use crate::ops::{Arithmetic, Call, Sign};
use crate::rules::Tier;

impl Formulas<'_> {
    /// What a function gives: nothing where formulas of this mode have no law for it, and no answer where it is no real number or
    /// takes too much.
    pub(super) fn arithmetic(
        &mut self,
        function: Arithmetic,
        call: &Call,
        operands: &[(DType, FormId)],
        dtype: DType,
    ) -> Option<Option<Form>> {
        match self.way.mode {
            Mode::Operators => Some(None),
            // Integers wrap around: they are no real numbers.
            Mode::Products if !(dtype.is_float() && operands.iter().all(|(dtype, _)| dtype.is_float())) => {
                self.arithmetic_of_integers(function, call, operands, dtype)
            }
            Mode::Products => {
                let form = self.law(function, call, operands, dtype)?;
                // What would be 0 for finite elements only stays as it is.
                Some(form.filter(|form| function == Arithmetic::Cast || !form.is_zero()))
            }
            Mode::Reals => self.arithmetic_of_reals(function, call, operands, dtype),
        }
    }

    fn arithmetic_of_reals(
        &mut self,
        function: Arithmetic,
        call: &Call,
        operands: &[(DType, FormId)],
        dtype: DType,
    ) -> Option<Option<Form>> {
        let ids: SmallVec<[FormId; 4]> = operands.iter().map(|&(_, id)| id).collect();
        let of_bool = match function {
            Arithmetic::Select => true,
            Arithmetic::Cast => call.operands[0].dtype == DType::Bool,
            _ => false,
        };
        let floats = operands.iter().skip(usize::from(of_bool)).all(|(dtype, _)| dtype.is_float());
        if self.way.cases && function == Arithmetic::Cast && dtype.is_float() && self.counts_cases(ids[0]) {
            return Some(Some(self.form(ids[0])));
        }
        if !dtype.is_float() || !floats {
            // A limit may be compared, and comes to a bool.
            return Some(None);
        }
        // Chosen by what is not known, a limit is looked at where it is an exponent.
        if function == Arithmetic::Select && ids[1..].iter().any(|&id| self.is_minus_infinity(id)) {
            return Some(None);
        }
        if ids.iter().any(|&id| self.is_minus_infinity(id)) {
            return Some(Some(self.at_limit(function, call, &ids)?));
        }
        if of_bool && function == Arithmetic::Cast {
            return Some(Some(self.indicator(ids[0])));
        }
        if let Some(form) = self.beside_limit(function, &ids) {
            return Some(Some(form));
        }
        self.law(function, call, operands, dtype)
    }

    /// What a function of real numbers gives, where none of them is a limit.
    fn law(
        &mut self,
        function: Arithmetic,
        call: &Call,
        operands: &[(DType, FormId)],
        dtype: DType,
    ) -> Option<Option<Form>> {
        let over_reals = self.way.mode == Mode::Reals;
        // What multiplies out takes its part of the budget by itself.
        if !over_reals || function == Arithmetic::Cast {
            let sizes: usize = operands.iter().map(|&(_, id)| self.store.form(id).size()).sum();
            self.spend(sizes / SIZE_PER_ELEMENT)?;
        }
        let form = |i: usize| operands.get(i).map(|&(_, id)| self.form(id));
        let (x, y, z) = (form(0)?, form(1), form(2));
        let one = || Form::number(BigRational::one());
        Some(Some(match function {
            Arithmetic::Fused => x,
            Arithmetic::Neg => x.scaled(&-BigRational::one()),
            Arithmetic::Add if over_reals => self.sum_with_sign(x, y?),
            Arithmetic::Add => self.sum([x, y?]),
            Arithmetic::Sub => self.minus(x, &y?),
            Arithmetic::Mul if over_reals => self.product_with_sign([operands[0].1, operands.get(1)?.1])?,
            Arithmetic::Mul => self.store.product(x, y?),
            Arithmetic::Div => return self.quotient(x, y?, dtype),
            Arithmetic::Reciprocal if over_reals => self.inverse(&x)?,
            Arithmetic::Reciprocal if x.as_number().is_none() => self.reciprocal(x, dtype),
            Arithmetic::Power if over_reals => return self.power(x, call.float("exponent")),
            Arithmetic::Power => return Some(self.small_power(x, call.float("exponent"))),
            Arithmetic::Max | Arithmetic::Min => self.extreme(function, x, y?, dtype),
            Arithmetic::Relu => self.extreme(Arithmetic::Max, x, Form::default(), dtype),
            Arithmetic::Clamp => self.clamped(x, call, dtype)?,
            Arithmetic::Cast => return Some(self.cast(x, call.operands[0].dtype, dtype)),
            Arithmetic::AddProduct if over_reals => {
                let factor = self.finite_number(call.number("value", dtype)?)?;
                let product = self.times(&y?, &z?)?.scaled(&factor);
                self.sum([x, product])
            }
            Arithmetic::AddQuotient if over_reals => {
                let factor = self.finite_number(call.number("value", dtype)?)?;
                let reciprocal = self.inverse(&z?)?;
                let quotient = self.times(&y?, &reciprocal)?.scaled(&factor);
                self.sum([x, quotient])
            }
            Arithmetic::AddScaled => {
                let factor = Form::number(self.finite_number(call.number("alpha", dtype)?)?);
                let product = self.store.product(factor, y?);
                self.sum([x, product])
            }
            Arithmetic::Between if over_reals => {
                let difference = self.minus(y?, &x);
                let step = self.times(&z?, &difference)?;
                self.sum([x, step])
            }
            Arithmetic::Exp if over_reals => self.exponential(&x)?,
            Arithmetic::ExpMinusOne if over_reals => {
                let exponential = self.exponential(&x)?;
                self.minus(exponential, &one())
            }
            Arithmetic::Log if over_reals => self.logarithm(&x)?,
            Arithmetic::LogOnePlus if over_reals => {
                let argument = self.sum([x, one()]);
                self.logarithm(&argument)?
            }
            Arithmetic::Sqrt if over_reals => self.square_root(x),
            Arithmetic::InverseSqrt if over_reals => self.inverse_root(x)?,
            Arithmetic::Sigmoid if over_reals => self.sigmoid(&x)?,
            Arithmetic::HyperbolicSine | Arithmetic::HyperbolicCosine if over_reals => self.hyperbolic(&x, function)?,
            Arithmetic::HyperbolicTangent if over_reals => {
                let sigmoid = self.sigmoid(&x.scaled(&BigRational::from_integer(2.into())))?;
                self.minus(sigmoid.scaled(&BigRational::from_integer(2.into())), &one())
            }
            Arithmetic::Sine if over_reals => self.wave(Function::Sine, &x)?,
            Arithmetic::Cosine if over_reals => self.wave(Function::Cosine, &x)?,
            Arithmetic::Silu if over_reals => {
                let gate = self.sigmoid(&x)?;
                self.times(&x, &gate)?
            }
            Arithmetic::LogSigmoid if over_reals => {
                let gate = self.sigmoid(&x)?;
                self.logarithm(&gate)?
            }
            Arithmetic::Softplus if over_reals => return self.softplus(&x, call, dtype),
            Arithmetic::Elu if over_reals => self.elu(x, call, dtype)?,
            Arithmetic::LeakyRelu if over_reals => {
                let slope = BigRational::from_float(call.float("negative_slope"))?;
                self.in_two_pieces(x, dtype, |_, below| Some(below.scaled(&slope)))?
            }
            Arithmetic::HardSigmoid if over_reals => self.hard_sigmoid(&x, dtype),
            Arithmetic::HardSwish if over_reals => {
                let gate = self.hard_sigmoid(&x, dtype);
                self.times(&x, &gate)?
            }
            Arithmetic::Abs if over_reals => self.absolute(x),
            Arithmetic::Select if over_reals => return self.selected(operands[0].1, &y?, z?),
            // Functions that sums of products do not know, and what has no law at all.
            Arithmetic::Reciprocal
            | Arithmetic::AddProduct
            | Arithmetic::AddQuotient
            | Arithmetic::Elu
            | Arithmetic::LeakyRelu
            | Arithmetic::HardSigmoid
            | Arithmetic::HardSwish
            | Arithmetic::Between
            | Arithmetic::Exp
            | Arithmetic::ExpMinusOne
            | Arithmetic::Log
            | Arithmetic::LogOnePlus
            | Arithmetic::Sqrt
            | Arithmetic::InverseSqrt
            | Arithmetic::Sigmoid
            | Arithmetic::Silu
            | Arithmetic::HyperbolicSine
            | Arithmetic::HyperbolicCosine
            | Arithmetic::HyperbolicTangent
            | Arithmetic::Sine
            | Arithmetic::Cosine
            | Arithmetic::LogSigmoid
            | Arithmetic::Softplus
            | Arithmetic::Abs
            | Arithmetic::Select
            | Arithmetic::Compare(_)
            | Arithmetic::And
            | Arithmetic::Or
            | Arithmetic::Not
            | Arithmetic::Other => return Some(None),
        }))
    }

    fn sum_with_sign(&mut self, x: Form, y: Form) -> Form {
        let signs = [self.store.sign(&x), self.store.sign(&y)];
        let sum = self.sum([x, y]);
        self.store.learn(&sum, sign_of_sum(&signs));
        sum
    }

    /// A product, with what its factors tell of it: multiplied out, it does not show that it is a square.
    fn product_with_sign(&mut self, factors: [FormId; 2]) -> Option<Form> {
        let [x, y] = factors.map(|id| self.form(id));
        let product = self.times(&x, &y)?;
        let signs = [self.store.sign(&x), self.store.sign(&y)];
        let is_square = factors[0] == factors[1] && signs[0] >= Sign::Real;
        self.store.learn(&product, if is_square { signs[0].max(Sign::NotNegative) } else { signs[0].min(signs[1]) });
        // Longer than either, so that looking for factors of factors comes to an end.
        let is_longer = |factor: &Form| (2..product.products().len()).contains(&factor.products().len());
        if signs.iter().all(|sign| *sign >= Sign::NotNegative) && is_longer(&x) && is_longer(&y) {
            self.store.learn_product(&product, factors);
        }
        Some(product)
    }

    /// A real number added to what may be minus infinity, or that times a number above 0: computed where it is none.
    fn beside_limit(&mut self, function: Arithmetic, ids: &[FormId]) -> Option<Form> {
        let &[x, y] = ids else { return None };
        let hides = [x, y].map(|id| self.hides(id));
        let (hiding, other) = match (hides, function) {
            ([true, false], Arithmetic::Add | Arithmetic::Sub | Arithmetic::Mul | Arithmetic::Div) => (x, self.form(y)),
            ([false, true], Arithmetic::Add | Arithmetic::Mul) => (y, self.form(x)),
            _ => return None,
        };
        let factor = other.as_number().filter(BigRational::is_positive);
        let computed = |elements: &mut Self, shown: Form| match function {
            Arithmetic::Add => Some(elements.sum([shown, other.clone()])),
            Arithmetic::Sub => Some(elements.minus(shown, &other)),
            Arithmetic::Mul => Some(shown.scaled(factor.as_ref()?)),
            _ => Some(shown.scaled(&factor.as_ref()?.recip())),
        };
        if !self.store.is_real(&other) {
            return None;
        }
        let [Product { factors, .. }] = self.store.form(hiding).products() else { return None };
        let mut choice = self.store.atom_of(factors[0]).clone();
        let Atom::Applied { operands, .. } = &mut choice else { return None };
        for (_, id) in operands.iter_mut().skip(1) {
            if !self.is_minus_infinity(*id) {
                let shown = self.form(*id);
                let shown = computed(self, shown)?;
                *id = self.store.keep(shown);
            }
        }
        Some(self.store.atom(choice))
    }

    /// Whether an element is a choice between minus infinity and something else.
    fn hides(&self, id: FormId) -> bool {
        let [Product { factors, number, .. }] = self.store.form(id).products() else { return false };
        let [atom] = factors[..] else { return false };
        match self.store.atom_of(atom) {
            Atom::Applied { what: Operation::Arithmetic(Arithmetic::Select), operands, .. } => {
                let limits = operands.iter().skip(1).filter(|(_, id)| self.is_minus_infinity(*id)).count();
                number.is_one() && operands.len() == 3 && limits == 1
            }
            _ => false,
        }
    }

    /// What a function gives for an operand that is minus infinity: no answer where there is no law for it.
    fn at_limit(&mut self, function: Arithmetic, call: &Call, ids: &[FormId]) -> Option<Form> {
        let (first, second) = (*ids.first()?, ids.get(1).copied());
        let is_limit = |id: FormId| self.is_minus_infinity(id);
        let absorbs = |limit: FormId, other: FormId| {
            (is_limit(other) || self.store.is_real(self.store.form(other))).then(|| self.form(limit))
        };
        match (function, second) {
            (Arithmetic::Add, Some(y)) if is_limit(y) => absorbs(y, first),
            (Arithmetic::Add, Some(y)) => absorbs(first, y),
            (Arithmetic::Sub, Some(y)) if !is_limit(y) => absorbs(first, y),
            (Arithmetic::Max, Some(y)) => Some(self.form(if is_limit(first) { y } else { first })),
            (Arithmetic::Exp, _) => Some(Form::default()),
            (Arithmetic::Mul, Some(y)) => {
                let (limit, other) = if is_limit(first) { (first, y) } else { (y, first) };
                let positive = self.form(other).as_number()?.is_positive();
                positive.then(|| self.form(limit))
            }
            (Arithmetic::Cast, _) if over_reals(call.operands[0].dtype) == DType::F32 => Some(self.form(first)),
            _ => None,
        }
    }

    fn quotient(&mut self, x: Form, y: Form, dtype: DType) -> Option<Option<Form>> {
        if self.way.mode == Mode::Reals {
            let reciprocal = self.inverse(&y)?;
            return Some(Some(self.times(&x, &reciprocal)?));
        }
        // What is divided by 0 is no real number.
        if y.is_zero() {
            return Some(None);
        }
        Some(Some(match y.as_number() {
            Some(number) => x.scaled(&number.recip()).with_share(y.share()),
            None => {
                let reciprocal = self.reciprocal(y, dtype);
                self.store.product(x, reciprocal)
            }
        }))
    }

    /// The powers that are products of two or three factors.
    fn small_power(&mut self, x: Form, exponent: f64) -> Option<Form> {
        if exponent != 2.0 && exponent != 3.0 {
            return None;
        }
        let square = self.store.product(x.clone(), x.clone());
        Some(if exponent == 3.0 { self.store.product(square, x) } else { square })
    }

    fn clamped(&mut self, x: Form, call: &Call, dtype: DType) -> Option<Form> {
        let mut form = x;
        for (name, end) in [("min", Arithmetic::Max), ("max", Arithmetic::Min)] {
            if let Some(bound) = call.number(name, dtype).and_then(|n| dtype.store(n)) {
                let bound = self.bound(bound)?;
                form = self.extreme(end, form, bound, dtype);
            }
        }
        Some(form)
    }

    /// A number that limits others: over the real numbers it is one.
    fn bound(&mut self, number: Number) -> Option<Form> {
        match self.way.mode {
            Mode::Reals => Some(Form::number(self.finite_number(number)?)),
            Mode::Operators | Mode::Products => self.number(number),
        }
    }

    fn cast(&mut self, x: Form, from: DType, to: DType) -> Option<Form> {
        match (from, to) {
            _ if from == to => Some(x),
            // What bf16 holds is a value of f32. What was computed in bf16 is not what f32 would have computed.
            (DType::BF16, DType::F32) if self.store.is_stored(&x) => Some(x),
            // What is computed from bf16 in f32 and cast back is what bf16 computes, but for rounding in between.
            (DType::F32, DType::BF16) if self.store.is_narrow(&x) => {
                self.tier = Tier::Rounding;
                Some(x)
            }
            _ => None,
        }
    }

    /// What is above 0 of `x`, and a function, which gives 0 for 0, of what is below.
    fn in_two_pieces(
        &mut self,
        x: Form,
        dtype: DType,
        below: impl FnOnce(&mut Self, Form) -> Option<Form>,
    ) -> Option<Form> {
        let above = self.extreme(Arithmetic::Max, x.clone(), Form::default(), dtype);
        let rest = self.extreme(Arithmetic::Min, x, Form::default(), dtype);
        let below = below(self, rest)?;
        Some(self.sum([above, below]))
    }

    fn elu(&mut self, x: Form, call: &Call, dtype: DType) -> Option<Form> {
        let [alpha, scale, inner] =
            ["alpha", "scale", "input_scale"].map(|name| BigRational::from_float(call.float(name)));
        let (alpha, scale, inner) = (alpha?, scale?, inner?);
        let whole = self.in_two_pieces(x, dtype, |elements, below| {
            let exponential = elements.exponential(&below.scaled(&inner))?;
            Some(elements.minus(exponential, &Form::number(BigRational::one())).scaled(&alpha))
        })?;
        Some(whole.scaled(&scale))
    }

    fn hard_sigmoid(&mut self, x: &Form, dtype: DType) -> Form {
        let number = |n: i64| Form::number(BigRational::from_integer(n.into()));
        let shifted = self.sum([x.clone(), number(3)]);
        let above = self.extreme(Arithmetic::Max, shifted, Form::default(), dtype);
        self.extreme(Arithmetic::Min, above, number(6), dtype).scaled(&BigRational::new(1.into(), 6.into()))
    }

    /// The first formula where a condition holds, the second elsewhere.
    fn selected(&mut self, condition: FormId, x: &Form, y: Form) -> Option<Option<Form>> {
        let condition = self.indicator(condition);
        if let Some(holds) = condition.as_number() {
            return Some(Some(if holds.is_zero() { y } else { x.clone() }));
        }
        // What is not chosen may be NaN, and a factor of 0 would let it through.
        if !(self.store.is_real(x) && self.store.is_real(&y)) {
            return Some(None);
        }
        let apart = self.minus(x.clone(), &y);
        let chosen = self.times(&condition, &apart)?;
        Some(Some(self.sum([chosen, y])))
    }

    /// 1 where a bool is true, 0 elsewhere.
    pub(super) fn indicator(&mut self, condition: FormId) -> Form {
        let one = Form::number(BigRational::one());
        let [Product { factors, .. }] = self.store.form(condition).products() else { return one };
        let [atom] = factors[..] else { return one };
        match self.store.atom_of(atom).clone() {
            Atom::Constant(value) => {
                if value.is_true() {
                    one
                } else {
                    Form::default()
                }
            }
            Atom::Applied { what: Operation::Arithmetic(Arithmetic::Not), operands, .. }
                if operands[0].0 == DType::Bool =>
            {
                let inner = self.indicator(operands[0].1);
                self.minus(one, &inner)
            }
            case => match self.condition_in_cases(&case) {
                Some(form) => form,
                None => self.store.atom(Atom::Indicator(condition)),
            },
        }
    }

    /// The larger or the smaller one of two elements. Their order makes no difference to real numbers.
    fn extreme(&mut self, end: Arithmetic, x: Form, y: Form, dtype: DType) -> Form {
        if let Some(extreme) = self.extreme_in_cases(end, &x, &y) {
            return extreme;
        }
        match (self.way.mode, end) {
            (Mode::Reals, _) => self.extreme_of_reals(end, x, y),
            (Mode::Operators | Mode::Products, _) => {
                let mut ids = [x, y].map(|form| self.store.keep(form));
                ids.sort_unstable();
                self.function_of_reals(end, &ids, dtype)
            }
        }
    }

    /// The larger or smaller one of two real numbers: one of them, if that is known to be it.
    fn extreme_of_reals(&mut self, end: Arithmetic, x: Form, y: Form) -> Form {
        let apart = self.minus(x.clone(), &y);
        let larger = if self.store.is_not_negative(&apart) {
            Some(true)
        } else {
            let opposite = apart.scaled(&-BigRational::one());
            self.store.is_not_negative(&opposite).then_some(false)
        };
        match (larger, end) {
            (Some(larger), _) if larger == (end == Arithmetic::Max) => x,
            (Some(_), _) => y,
            (None, Arithmetic::Min) => self.smallest([x, y]),
            (None, _) => self.largest([x, y]),
        }
    }

    fn reciprocal(&mut self, x: Form, dtype: DType) -> Form {
        let id = self.store.keep(x);
        self.function_of_reals(Arithmetic::Reciprocal, &[id], dtype)
    }

    /// What a function without attributes gives that is not looked into.
    fn function_of_reals(&mut self, function: Arithmetic, operands: &[FormId], dtype: DType) -> Form {
        let dtype = over_reals(dtype);
        let operands = operands.iter().map(|&id| (dtype, id)).collect();
        let (what, attrs, place) = (Operation::Arithmetic(function), SmallVec::new(), SmallVec::new());
        self.store.atom(Atom::Applied { what, dtype, attrs, operands, place })
    }
}

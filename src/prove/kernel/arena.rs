//! Hash-consed terms: both graphs live here as one DAG over bound inputs, and so does every form that
//! a rule builds. Two terms with the same id are the same expression.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use crate::eval::{Constant, Folded, Region, fold};
use crate::ir::{Attrs, Number, TensorType};
use crate::ops::{
    Arithmetic, Call, Family, Interval, Op, OpDef, RowFunction, Sign, TypeError, as_number, is_number, keeps_both,
    numbers_to_store, shortest_number, sign_of,
};
use crate::rules::every_row_has;

/// Whether what arithmetic gives for single numbers has all of them: rules may bring together what a program kept apart, as the 1 and
/// the 1e-9 of `(x + 1) + 1e-9`, whose sum is 1.
fn holds(op: &OpDef, operands: &[&Constant], value: &Constant, ty: &TensorType) -> bool {
    let numbers: Option<SmallVec<[f64; 4]>> =
        operands.iter().map(|constant| constant.uniform().map(Number::to_f64)).collect();
    let (Some(numbers), Some(value)) = (numbers, value.uniform()) else { return true };
    if !ty.dtype.is_float() || ty.rank() > 0 || !numbers.iter().all(|x| x.is_finite()) {
        return true;
    }
    let value = value.to_f64();
    match (op.arithmetic(), numbers.as_slice()) {
        (Arithmetic::Add, &[x, y]) => value.is_finite() && keeps_both(ty.dtype, x, y),
        (Arithmetic::Sub, &[x, y]) => value.is_finite() && keeps_both(ty.dtype, x, -y),
        (Arithmetic::Mul, &[x, y]) => value.is_finite() && (value != 0.0 || x == 0.0 || y == 0.0),
        // What is divided by 0 is infinite in the program, too.
        (Arithmetic::Div, &[x, y]) => y == 0.0 || value.is_finite() && (value != 0.0 || x == 0.0),
        (Arithmetic::Reciprocal | Arithmetic::InverseSqrt | Arithmetic::Power, &[x]) => {
            x == 0.0 || value.is_finite() && value != 0.0
        }
        (Arithmetic::Exp, _) => value.is_finite() && value != 0.0,
        (Arithmetic::ExpMinusOne | Arithmetic::HyperbolicSine | Arithmetic::HyperbolicCosine, _) => value.is_finite(),
        _ => true,
    }
}

fn is_finite(n: Number) -> bool {
    n.to_f64().is_finite()
}

fn is_minus_infinity(n: Number) -> bool {
    n.to_f64() == f64::NEG_INFINITY
}

/// An expression in an [`TermArena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(u32);

impl TermId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An interned [`Head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeadId(u32);

/// An interned [`TensorType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

/// An interned [`Constant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstantId(u32);

/// One of the two graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    A,
    B,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::A => "A",
            Side::B => "B",
        })
    }
}

/// A random draw: equal to nothing but itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    pub side: Side,
    pub node: u32,
    pub slot: u32,
}

/// What stands at the root of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Head {
    /// BoundPair input number `n` of the two graphs.
    Input(u32),
    /// Elements written in a file, too many to fold.
    Literal(Arc<[Number]>),
    /// Output `slot` of an operator.
    Apply { op: Op, attrs: Attrs, slot: u32 },
    /// An operator whose result is drawn anew at every call: which output of which node it is.
    Random(Draw),
}

/// Operands of a term.
pub(crate) type Operands = SmallVec<[TermId; 4]>;

/// One expression.
#[derive(Clone, Debug)]
pub struct Term {
    pub head: HeadId,
    pub ty: TypeId,
    pub operands: Operands,
    /// The value, where it depends on no input, or has no elements.
    pub value: Option<KnownValue>,
    /// What is known of its elements, for all real numbers that the inputs can be.
    pub sign: Sign,
}

/// The value of a term that depends on no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownValue {
    pub id: ConstantId,
    /// Whether PyTorch computes it bit for bit. Functions such as `exp` come out a little differently everywhere.
    pub exact: bool,
}

/// The store of all terms. Ids are given in order of creation, so operands have smaller ids than their users.
#[derive(Clone, Default)]
pub struct TermArena {
    heads: IndexSet<Head, FxBuildHasher>,
    types: IndexSet<TensorType, FxBuildHasher>,
    constants: IndexSet<Constant, FxBuildHasher>,
    terms: Vec<Term>,
    ids: FxHashMap<(HeadId, TypeId, Operands), TermId>,
    /// Output types that files state for operators outside the table, by operator and operand types.
    stated: FxHashMap<(HeadId, SmallVec<[TypeId; 4]>), TypeId>,
    /// Says whether the value of a term is what it should be; without one, all values are taken as they come.
    judge: Option<fn(&TermArena, TermId) -> bool>,
    /// The first term whose value was refused.
    first_refused: Option<TermId>,
}

impl TermArena {
    /// An empty arena in which no term has a value that `judge` refuses. It is asked when the term is already there, with what
    /// is left of its operands' values.
    pub fn judging_values(judge: fn(&TermArena, TermId) -> bool) -> TermArena {
        TermArena { judge: Some(judge), ..TermArena::default() }
    }

    /// The first term whose value was refused, if any was.
    pub fn first_refused(&self) -> Option<TermId> {
        self.first_refused
    }

    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The term that was added as number `n`.
    pub fn nth(&self, n: usize) -> TermId {
        TermId(n as u32)
    }

    pub fn term(&self, id: TermId) -> &Term {
        &self.terms[id.index()]
    }

    pub fn head(&self, id: TermId) -> &Head {
        &self.heads[self.term(id).head.0 as usize]
    }

    pub fn ty(&self, id: TermId) -> &TensorType {
        &self.types[self.term(id).ty.0 as usize]
    }

    /// The value of `id`, if it depends on no input and is known exactly.
    pub fn constant(&self, id: TermId) -> Option<&Constant> {
        self.value(id).filter(|_| self.term(id).value.is_some_and(|v| v.exact))
    }

    /// The value of `id`, if it depends on no input: exactly, or as near as floats come to it.
    pub fn value(&self, id: TermId) -> Option<&Constant> {
        self.term(id).value.map(|v| &self.constants[v.id.0 as usize])
    }

    /// The value that an operator computes with where it reads `id`: see [`as_number`].
    pub fn read_value(&self, id: TermId) -> Option<Cow<'_, Constant>> {
        let value = self.value(id)?;
        Some(match (self.op(id), value) {
            (Some((Op::Table(op), ..)), Constant::Uniform(v)) if is_number(op) => {
                Cow::Owned(Constant::Uniform(as_number(self.ty(id).dtype, *v)))
            }
            _ => Cow::Borrowed(value),
        })
    }

    /// The operator at the root, if the root is one.
    pub fn op(&self, id: TermId) -> Option<(&Op, &Attrs, u32)> {
        match self.head(id) {
            Head::Apply { op, attrs, slot } => Some((op, attrs, *slot)),
            _ => None,
        }
    }

    /// Whether congruence alone makes two terms equal: they are the same but for the order of a commutative operator's operands
    /// and for how known values are computed.
    pub fn same_but_for_order(&self, a: TermId, b: TermId) -> bool {
        if a == b {
            return true;
        }
        let (x, y) = (self.term(a), self.term(b));
        if x.ty != y.ty || x.value.is_some() || y.value.is_some() {
            return x.ty == y.ty && x.value.map(|v| v.id) == y.value.map(|v| v.id);
        }
        let alike = |xs: &[TermId], ys: &[TermId]| {
            xs.len() == ys.len() && xs.iter().zip(ys).all(|(&a, &b)| self.same_but_for_order(a, b))
        };
        let swapped = || match (self.head(a), x.operands.as_slice(), y.operands.as_slice()) {
            (Head::Apply { op, .. }, [s, t, rest @ ..], [u, v, others @ ..]) if op.commutative() => {
                alike(&[*s, *t], &[*v, *u]) && alike(rest, others)
            }
            _ => false,
        };
        x.head == y.head && (alike(&x.operands, &y.operands) && !x.operands.is_empty() || swapped())
    }

    /// A term without operands.
    pub fn leaf(&mut self, head: Head, ty: &TensorType, constant: Option<Constant>) -> TermId {
        let ty = self.type_id(ty);
        let value = constant.map(|c| KnownValue { id: self.constant_id(c), exact: true });
        self.intern(head, ty, Operands::new(), value, None)
    }

    /// Output `slot` of `op`. Types of table operators are inferred; `stated` gives the type of others, and
    /// may be left out where the same operator was seen before on operands of these types.
    pub fn call(
        &mut self,
        op: &Op,
        attrs: &Attrs,
        slot: u32,
        operands: &[TermId],
        stated: Option<&TensorType>,
    ) -> Result<TermId, TypeError> {
        let head = Head::Apply { op: op.clone(), attrs: attrs.clone(), slot };
        let Op::Table(def) = op else {
            let ty = self.custom_type(&head, operands, stated)?;
            return Ok(self.intern(head, ty, operands.into(), None, None));
        };
        let operands = &*self.stored(def, operands)?;
        let (folded, ty) = {
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&t| self.ty(t)).collect();
            let call = Call { op: def, attrs, operands: &types };
            let mut inferred = call.infer()?;
            if slot as usize >= inferred.len() {
                return Err(call.error(format!("has no output {slot}")));
            }
            let ty = inferred.swap_remove(slot as usize);
            let constants: Option<SmallVec<[Cow<Constant>; 4]>> =
                operands.iter().map(|&t| self.read_value(t)).collect();
            let mut folded = constants.and_then(|c| {
                let constants: SmallVec<[&Constant; 4]> = c.iter().map(AsRef::as_ref).collect();
                fold(&call, slot as usize, &constants, &ty).filter(|folded| holds(def, &constants, &folded.value, &ty))
            });
            // Numbers that compute the same are the same.
            if let Some(Folded { value: Constant::Uniform(number), .. }) = folded.as_mut().filter(|_| is_number(def)) {
                *number = shortest_number(ty.dtype, *number);
            }
            (folded, ty)
        };
        let ty = self.type_id(&ty);
        let exact = operands.iter().all(|&t| self.term(t).value.is_some_and(|v| v.exact));
        let value = folded.map(|f| KnownValue { id: self.constant_id(f.value), exact: exact && f.exact });
        Ok(self.intern(head, ty, operands.into(), value, None))
    }

    /// The same for a call that a rule makes. It computes with numbers as they are written, so that one of nothing but numbers has to hold
    /// them all: `x / 1e-8` is no product of `x` and the reciprocal of what a narrow type stores of 1e-8.
    ///
    /// # Errors
    /// As [`call`](Self::call), and where a number gets lost.
    pub fn call_of_rule(
        &mut self,
        op: &Op,
        attrs: &Attrs,
        slot: u32,
        operands: &[TermId],
    ) -> Result<TermId, TypeError> {
        let id = self.call(op, attrs, slot, operands, None)?;
        let Op::Table(def) = op else { return Ok(id) };
        let computes = def.family == Family::Elementwise && !operands.is_empty();
        let are_numbers = || operands.iter().all(|&o| self.ty(o).rank() == 0 && self.value(o).is_some());
        let is_held = || self.value(id).is_some() && *self.term(id).operands == *operands;
        if computes && self.ty(id).dtype.is_float() && are_numbers() && !is_held() {
            return Err(TypeError::new(def.name, "computes a number that its type does not hold"));
        }
        Ok(id)
    }

    /// The operands of `op` with what it stores of numbers in their places: see [`numbers_to_store`].
    fn stored<'o>(&mut self, op: &OpDef, operands: &'o [TermId]) -> Result<Cow<'o, [TermId]>, TypeError> {
        let attrs = |i: usize| match self.op(operands[i]) {
            Some((Op::Table(made), attrs, _)) if is_number(made) => Some(attrs),
            _ => None,
        };
        let mut stored = Cow::Borrowed(operands);
        for (at, attrs) in numbers_to_store(op, operands.len(), attrs) {
            let Some((number, ..)) = self.op(operands[at]) else { continue };
            let number = number.clone();
            stored.to_mut()[at] = self.call(&number, &attrs, 0, &[], None)?;
        }
        Ok(stored)
    }

    fn custom_type(
        &mut self,
        head: &Head,
        operands: &[TermId],
        stated: Option<&TensorType>,
    ) -> Result<TypeId, TypeError> {
        let head = HeadId(self.heads.insert_full(head.clone()).0 as u32);
        let key = (head, operands.iter().map(|&o| self.term(o).ty).collect());
        let stated = stated.map(|ty| self.type_id(ty));
        match stated.or_else(|| self.stated.get(&key).copied()) {
            Some(ty) => {
                self.stated.entry(key).or_insert(ty);
                Ok(ty)
            }
            None => Err(TypeError::new("an operator", "outside the op table has no known output type here")),
        }
    }

    /// `sign` is what is known of the elements, where that is known already.
    fn intern(
        &mut self,
        head: Head,
        ty: TypeId,
        operands: Operands,
        value: Option<KnownValue>,
        sign: Option<Sign>,
    ) -> TermId {
        let head = HeadId(self.heads.insert_full(head).0 as u32);
        let key = (head, ty, operands);
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        // There is one tensor without elements of each type, whatever it comes from.
        let value = match self.types[ty.0 as usize].shape.contains(&0) {
            true => Some(KnownValue { id: self.constant_id(Constant::Dense(Arc::default())), exact: true }),
            false => value,
        };
        let id = TermId(self.terms.len() as u32);
        let sign = sign.unwrap_or_else(|| self.sign_of(head, ty, &key.2, value));
        self.terms.push(Term { head, ty, operands: key.2.clone(), value, sign });
        self.ids.insert(key, id);
        if value.is_some() && self.judge.is_some_and(|judge| !judge(self, id)) {
            let term = &mut self.terms[id.index()];
            (term.value, term.sign) = (None, Sign::Unknown);
            self.first_refused.get_or_insert(id);
        }
        id
    }

    fn sign_of(&self, head: HeadId, ty: TypeId, operands: &[TermId], value: Option<KnownValue>) -> Sign {
        let ty = &self.types[ty.0 as usize];
        if let Some(value) = value {
            return Sign::of(Interval::of(&self.constants[value.id.0 as usize], ty));
        }
        match &self.heads[head.0 as usize] {
            Head::Input(_) => Sign::Real,
            Head::Apply { op: Op::Table(def), attrs, slot: 0 } => {
                if let &[scores] = operands
                    && def.row_function() == RowFunction::Softmax
                    && self.term(scores).sign == Sign::Unknown
                    && def.attr_index("dim").and_then(|i| attrs.get(i)?.as_int())
                        == Some(self.ty(scores).rank() as i64 - 1)
                    && self.are_masked_scores(scores)
                {
                    // What is hidden gets 0.
                    return Sign::NotNegative;
                }
                sign_of(def, attrs, operands.iter().map(|&o| (self.ty(o), self.term(o).sign)))
            }
            Head::Literal(data) => Sign::of(Interval::over(data.iter().map(|n| n.to_f64()))),
            Head::Apply { .. } | Head::Random(_) => Sign::Unknown,
        }
    }

    /// Whether a term is real numbers where a known mask keeps them and -inf elsewhere, and the mask keeps one in every row of the last dim:
    /// the softmax of such a row is what it is of real numbers.
    fn are_masked_scores(&self, scores: TermId) -> bool {
        let Some((op, ..)) = self.op(scores) else { return false };
        let is_real = |t: TermId| self.term(t).sign >= Sign::Real;
        let hides = |t: TermId| self.constant(t).and_then(Constant::uniform).is_some_and(is_minus_infinity);
        let keeps_a_key = |mask: TermId, is_kept: &dyn Fn(Number) -> bool| {
            let has_keys = self.ty(mask).shape.last() == self.ty(scores).shape.last();
            has_keys && self.constant(mask).is_some_and(|constant| every_row_has(constant, self.ty(mask), is_kept))
        };
        let adds_or_hides = |mask: TermId| match self.constant(mask) {
            Some(Constant::Uniform(n)) => is_finite(*n),
            Some(Constant::Region(Region { inside, outside, .. })) => {
                [*inside, *outside].into_iter().all(|n| is_finite(n) || is_minus_infinity(n))
            }
            Some(Constant::Dense(data)) => data.iter().all(|&n| is_finite(n) || is_minus_infinity(n)),
            Some(Constant::Affine(_)) | None => false,
        };
        match (op.arithmetic(), self.term(scores).operands.as_slice()) {
            (Arithmetic::Select, &[mask, x, hidden]) if hides(hidden) => {
                is_real(x) && keeps_a_key(mask, &Number::is_true)
            }
            (Arithmetic::Select, &[mask, hidden, x]) if hides(hidden) => {
                is_real(x) && keeps_a_key(mask, &|n| !n.is_true())
            }
            (Arithmetic::Add, &[x, mask] | &[mask, x]) if is_real(x) => {
                adds_or_hides(mask) && keeps_a_key(mask, &is_finite)
            }
            _ => false,
        }
    }

    fn type_id(&mut self, ty: &TensorType) -> TypeId {
        match self.types.get_index_of(ty) {
            Some(i) => TypeId(i as u32),
            None => TypeId(self.types.insert_full(ty.clone()).0 as u32),
        }
    }

    fn constant_id(&mut self, constant: Constant) -> ConstantId {
        ConstantId(self.constants.insert_full(constant).0 as u32)
    }

    /// A leaf with the type and the value, if that is known, of `id` in another arena.
    pub fn leaf_like(&mut self, from: &TermArena, id: TermId, head: Head) -> TermId {
        self.copy(from, id, head, Operands::new())
    }

    /// A term with the root of `id` in another arena, over operands of this one.
    pub fn copy_head(&mut self, from: &TermArena, id: TermId, operands: Operands) -> TermId {
        self.copy(from, id, from.head(id).clone(), operands)
    }

    fn copy(&mut self, from: &TermArena, id: TermId, head: Head, operands: Operands) -> TermId {
        let ty = self.type_id(from.ty(id));
        if let Head::Apply { op: Op::Custom(_), .. } = head {
            // What this arena builds later may be the same call: rules that define the operator do so.
            let known = HeadId(self.heads.insert_full(head.clone()).0 as u32);
            self.stated.entry((known, operands.iter().map(|&o| self.terms[o.0 as usize].ty).collect())).or_insert(ty);
        }
        let known = from.value(id).cloned().zip(from.term(id).value);
        let value = known.map(|(value, KnownValue { exact, .. })| KnownValue { id: self.constant_id(value), exact });
        // An input stands for whatever the term is computed from.
        let sign = (value.is_some() || matches!(head, Head::Input(_))).then(|| from.term(id).sign);
        self.intern(head, ty, operands, value, sign)
    }

    /// Copies `id` and everything below it from another arena, except what `done` already maps.
    pub fn import(&mut self, from: &TermArena, id: TermId, done: &mut FxHashMap<TermId, TermId>) -> TermId {
        let mut stack = vec![id];
        while let Some(&top) = stack.last() {
            if done.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = &from.term(top).operands;
            let before = stack.len();
            stack.extend(operands.iter().copied().filter(|o| !done.contains_key(o)));
            if stack.len() == before {
                let operands: Operands = operands.iter().map(|o| done[o]).collect();
                let copy = self.copy_head(from, top, operands);
                done.insert(top, copy);
                stack.pop();
            }
        }
        done[&id]
    }
}

#[cfg(test)]
#[path = "arena_tests.rs"]
mod tests;

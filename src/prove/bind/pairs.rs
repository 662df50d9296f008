//! Inputs that are stated to be made of others, and those that are the same on both sides by name or position.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::Expression;
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Graph, Role, TensorType};
use crate::prove::Side;

impl Plan {
    /// Binds the inputs of `side` that are outputs of `stated`, a graph over the inputs of the other side.
    pub(super) fn by_statement(&mut self, side: Side, stated: &Graph) {
        for output in stated.outputs() {
            let target = self.side(side).iter().position(|s| s.input.name == *output.name && s.is_free());
            let expression = Expression::of_value(stated, output.value);
            let Some((target, expression)) = target.zip(expression) else { continue };
            match expression.alias().filter(|&i| self.side(side.other())[i].is_free()) {
                Some(source) if side == Side::A => self.pair(target, source, Source::Stated),
                Some(source) => self.pair(source, target, Source::Stated),
                None => self.derive(side, target, expression, Source::Stated),
            }
        }
    }

    /// What a file states to be integers of the other side in a narrower type: the wider ones are the narrower ones, so that all of them
    /// fit. Other integers are not what anybody gives both programs.
    pub(super) fn stated_narrower(&mut self) {
        for side in [Side::A, Side::B] {
            for target in 0..self.side(side).len() {
                let Some((Meaning::Derived(expression), Source::Stated)) = &self.side(side)[target].meaning else {
                    continue;
                };
                let Some(leaf) = expression.narrowed() else { continue };
                let others = self.side(side).iter().enumerate().filter(|(i, _)| *i != target);
                let wide = &self.side(side.other())[leaf];
                if wide.meaning.is_some() || others.flat_map(|(_, slot)| slot.made_of()).any(|of| of == leaf) {
                    continue;
                }
                let (ty, dtype) = (&self.side(side)[target].input.ty, wide.input.ty.dtype);
                if let Ok(expression) = Expression::cast(target, ty, dtype) {
                    self.side_mut(side)[target].meaning = None;
                    self.side_mut(side.other())[leaf].used = false;
                    self.derive(side.other(), leaf, expression, Source::Stated);
                }
            }
        }
    }

    /// Binds inputs of one name and type where `may` allows it.
    pub(super) fn by_name(&mut self, may: impl Fn(&Slot, &Slot) -> bool) {
        let by_name: FxHashMap<String, usize> =
            self.a.iter().enumerate().map(|(i, x)| (x.input.name.clone(), i)).collect();
        for j in 0..self.b.len() {
            let y = &self.b[j];
            if let Some(&i) = by_name.get(&y.input.name)
                && self.a[i].input.ty == y.input.ty
                && self.a[i].is_free()
                && y.is_free()
                && may(&self.a[i], y)
            {
                self.pair(i, j, Source::Name);
            }
        }
    }

    /// Binds weights of one type whose names are the same but for a prefix, where one file puts it before the names of several: the name of a
    /// module that holds the model.
    pub(super) fn by_prefix(&mut self) {
        for side in [Side::B, Side::A] {
            let free = |slot: &&Slot| slot.is_free() && slot.input.role != Role::User;
            let others = self.side(side.other()).iter().enumerate().filter(|(_, slot)| free(slot));
            let others: FxHashMap<&str, (usize, &Slot)> =
                others.map(|(i, slot)| (slot.input.name.as_str(), (i, slot))).collect();
            let mut found: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
            for (own, slot) in self.side(side).iter().enumerate().filter(|(_, slot)| free(slot)) {
                for (dot, _) in slot.input.name.match_indices('.') {
                    let (prefix, name) = slot.input.name.split_at(dot + 1);
                    if let Some(&(other, like)) = others.get(name)
                        && like.input.ty == slot.input.ty
                        && like.live == slot.live
                        && like.may_hold(slot)
                    {
                        found.entry(prefix).or_default().push((own, other));
                    }
                }
            }
            let commonest = found.into_values().max_by_key(Vec::len).filter(|all| all.len() > 1);
            for (own, other) in commonest.into_iter().flatten() {
                let (i, j) = if side == Side::A { (own, other) } else { (other, own) };
                self.pair(i, j, Source::Prefixed);
            }
        }
    }

    /// Binds integers that a user gives under one name and in two types, such as token ids: the wider ones are the narrower
    /// ones.
    pub(super) fn by_narrower_type(&mut self) {
        for j in 0..self.b.len() {
            let y = &self.b[j];
            let same = |x: &Slot| x.is_free_whole() && x.input.name == y.input.name;
            if y.is_free_whole()
                && let Some(i) = self.a.iter().position(same)
            {
                self.widen(i, j, Source::Narrower);
            }
        }
    }

    /// Binds the only integers that a user gives to each graph, where names and types differ.
    pub(super) fn only_narrower(&mut self) {
        let only = |slots: &[Slot]| {
            let mut all = (0..slots.len()).filter(|&i| slots[i].is_free_whole());
            all.next().filter(|_| all.next().is_none())
        };
        if let (Some(i), Some(j)) = (only(&self.a), only(&self.b)) {
            self.widen(i, j, Source::Use);
        }
    }

    /// Integers of A and B of one shape, where one type holds all numbers of the other one, are the same numbers.
    fn widen(&mut self, i: usize, j: usize, source: Source) {
        let (x, y) = (self.a[i].input.ty.clone(), self.b[j].input.ty.clone());
        let (side, target, leaf, of, to) = match (x.dtype.widens_to(y.dtype), y.dtype.widens_to(x.dtype)) {
            (true, false) => (Side::B, j, i, &x, y.dtype),
            (false, true) => (Side::A, i, j, &y, x.dtype),
            _ => return,
        };
        if x.shape == y.shape
            && let Ok(expression) = Expression::cast(leaf, of, to)
        {
            self.derive(side, target, expression, source);
        }
    }

    /// Binds what is left, per role and type, in the order of the inputs. Formats in which weights are arguments do not tell them from what
    /// a user gives, so that the weights of the other side may be any of those.
    pub(super) fn by_position(&mut self) {
        self.by_position_of(|slot| slot.input.role);
        if self.gives_weights() != [false; 2] {
            self.by_position_of(|_| Role::User);
        }
    }

    /// For A and for B: whether its format has weights as arguments, while the other one tells them from what a user gives.
    pub(super) fn gives_weights(&self) -> [bool; 2] {
        let [a, b] = [&self.a, &self.b].map(|slots| slots.iter().all(|slot| slot.input.role == Role::User));
        [a && !b, b && !a]
    }

    fn by_position_of(&mut self, role: impl Fn(&Slot) -> Role) {
        let kind = |slot: &Slot| (role(slot), slot.input.ty.clone());
        let mut free_a: FxHashMap<(Role, TensorType), VecDeque<usize>> = FxHashMap::default();
        let places = self.a.iter().enumerate().filter(|(_, slot)| slot.is_free());
        places.for_each(|(i, slot)| free_a.entry(kind(slot)).or_default().push_back(i));
        let mut count_b: FxHashMap<(Role, TensorType), usize> = FxHashMap::default();
        self.b.iter().filter(|slot| slot.is_free()).for_each(|slot| *count_b.entry(kind(slot)).or_default() += 1);
        for j in 0..self.b.len() {
            let y = &self.b[j];
            let kind = kind(y);
            let (true, Some(of_a), Some(of_b)) = (y.is_free(), free_a.get_mut(&kind), count_b.get_mut(&kind)) else {
                continue;
            };
            let mut fitting = (0..of_a.len()).filter(|&at| self.a[of_a[at]].may_hold(y));
            let Some(at) = fitting.next() else { continue };
            let rivals = fitting.next().is_some() || *of_b > 1;
            // Weights may also be related in other ways, such as transposed.
            let taken = of_a.remove(at);
            *of_b -= 1;
            if let Some(i) = taken {
                let only = [&self.a[i], y].into_iter().all(|slot| slot.input.role == Role::User) && !rivals;
                self.pair(i, j, if only { Source::Only } else { Source::Position });
            }
        }
    }
}

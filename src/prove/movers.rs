//! Operators that move elements, such as slices and reshapes, change places in a window with operators that compute each of them, or
//! each place along a dimension, by itself.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use egg::Id;

use super::arena::TermId;
use super::kernel::{expanded, is_pushed_down, mover, pushed_down};
use super::language::Node;
use super::lemma::{Lemma, Reason};
use super::window::{MAX_FORMS, Window};
use crate::ir::{AttrValue, Attrs, TensorType};
use crate::ops::{Call, Op};

/// Terms that stand for classes in a term that is built over them.
type Known = FxHashMap<TermId, Id>;

/// An operator, one of its operands, and what moves elements for that one.
type Candidate = (Node, usize, Node);

/// What moves elements of the results of an operator, and the operator on moved elements of its operands: the same.
struct Exchange {
    before: TermId,
    after: TermId,
    known: Known,
}

impl Window {
    /// Adds forms in which elements are moved of the operands of an operator in place of its result, and the other way round where
    /// that saves something. Gives whether there are new ones. Each pair of nodes is tried once.
    pub(super) fn move_elements(&mut self, limit: usize) -> bool {
        let (movers, mut tried) = (self.movers(), std::mem::take(&mut self.tried));
        let mut found = self.moved_results(&movers, &mut tried);
        found.extend(self.moved_operands(&movers, &mut tried));
        self.tried = tried;
        let mut changed = false;
        for Exchange { before, after, known } in found {
            if self.egraph.total_number_of_nodes() > limit {
                break;
            }
            let ends = [before, after].map(|term| self.add_all(term, &known));
            let [a, b] = ends.map(|id| self.egraph.find(id));
            if a != b {
                self.lemmas.push(Lemma { before, after, reason: Reason::PushedDown });
                self.egraph.union(a, b);
                changed = true;
            }
        }
        changed
    }

    /// The nodes of each class that move elements.
    fn movers(&self) -> FxHashMap<Id, Vec<Node>> {
        let mut found: FxHashMap<Id, Vec<Node>> = FxHashMap::default();
        for class in self.egraph.classes() {
            let moving =
                class.nodes.iter().filter(|node| node.head.is_some() && mover(&self.arena, node.term).is_some());
            let moving: Vec<Node> = moving.take(MAX_FORMS).cloned().collect();
            if !moving.is_empty() {
                found.insert(class.id, moving);
            }
        }
        found
    }

    fn type_of(&self, id: Id) -> &TensorType {
        self.arena.ty(self.egraph[id].data.term)
    }

    /// Operators that move elements of results, which can be moved before. What only repeats them is left where it is.
    fn moved_results(
        &mut self,
        movers: &FxHashMap<Id, Vec<Node>>,
        tried: &mut FxHashSet<[TermId; 2]>,
    ) -> Vec<Exchange> {
        let mut found = Vec::new();
        for (&root, nodes) in movers {
            for node in nodes {
                let Some((.., moved)) = mover(&self.arena, node.term) else { continue };
                let (parts, named) = node.children.split_at(moved);
                let places: usize = parts.iter().map(|&part| self.type_of(part).numel()).sum();
                if named.is_empty() && self.type_of(root).numel() > places {
                    continue;
                }
                let forms = self.egraph[parts[0]].nodes.iter().filter(|form| !form.children.is_empty()).take(MAX_FORMS);
                for form in forms.filter(|form| tried.insert([node.term, form.term])) {
                    let alike = |&part: &Id| self.egraph[part].nodes.iter().find(|other| other.head == form.head);
                    let others: Option<SmallVec<[Node; 2]>> =
                        parts[1..].iter().map(|part| alike(part).cloned()).collect();
                    let Some(others) = others else { continue };
                    let forms: SmallVec<[Node; 2]> = [form.clone()].into_iter().chain(others).collect();
                    found.push((node.term, forms, SmallVec::<[Id; 4]>::from(named)));
                }
            }
        }
        // The order of a hash table is no order for the log.
        found.sort_by_key(|(node, forms, _)| (*node, forms[0].term));
        let mut results = Vec::new();
        for (moving, forms, named) in found {
            let mut known = Known::default();
            let mut operands: SmallVec<[TermId; 4]> = SmallVec::new();
            for form in &forms {
                let below = self.representatives(&form.children, &mut known);
                operands.extend(self.again(form.term, &below));
            }
            if operands.len() != forms.len() {
                continue;
            }
            operands.extend(self.representatives(&named, &mut known));
            let Some(before) = self.again(moving, &operands) else { continue };
            if let Some(after) = pushed_down(&mut self.arena, before) {
                results.push(Exchange { before, after, known });
            }
        }
        results
    }

    /// Operators of whose operands elements are moved alike, which can be moved after. Whole places only where there is less to compute
    /// that way, or where it is computed anyway.
    fn moved_operands(
        &mut self,
        movers: &FxHashMap<Id, Vec<Node>>,
        tried: &mut FxHashSet<[TermId; 2]>,
    ) -> Vec<Exchange> {
        let mut found = Vec::new();
        for class in self.egraph.classes().filter(|class| !class.data.constant) {
            for node in class.nodes.iter().filter(|node| node.head.is_some()) {
                for (at, &child) in node.children.iter().enumerate() {
                    let forms = movers.get(&self.egraph.find(child)).into_iter().flatten();
                    let new = forms.filter(|form| tried.insert([node.term, form.term]));
                    found.extend(new.map(|form| (node.clone(), at, form.clone())));
                }
            }
        }
        found.sort_by_key(|(node, at, form)| (node.term, *at, form.term));
        let exchange = |(node, at, form): &Candidate| {
            let of_elements = self.expanded_after(node, form).or_else(|| self.elements_after(node, form));
            of_elements.or_else(|| self.places_after(node, *at, form, movers))
        };
        found.iter().filter_map(exchange).collect()
    }

    /// The operator of `node` with places moved after it that `form` moves of operand `at`.
    fn places_after(
        &mut self,
        node: &Node,
        at: usize,
        form: &Node,
        movers: &FxHashMap<Id, Vec<Node>>,
    ) -> Option<Exchange> {
        let result = self.arena.ty(node.term).clone();
        let (moving, along, count) = mover(&self.arena, form.term).filter(|(_, along, _)| !along.is_empty())?;
        let (moves, moved, _) = self.call_of(form.term)?;
        let (op, attrs, slot) = self.call_of(node.term)?;
        let Op::Table(computes) = op else { return None };
        let types: SmallVec<[TensorType; 4]> = node.children.iter().map(|&id| self.type_of(id).clone()).collect();
        let local = {
            let types: SmallVec<[&TensorType; 4]> = types.iter().collect();
            let call = Call { op: computes, attrs: &attrs, operands: &types };
            (0..result.rank()).map(|dim| call.local_dims(slot as usize, &result, dim)).collect::<SmallVec<[_; 4]>>()
        };
        // Dimensions of the result in the places of those of the operand.
        let above = |dim: &usize| {
            let leads = |l: &Option<SmallVec<[Option<usize>; 4]>>| l.as_ref().is_some_and(|l| l[at] == Some(*dim));
            local.iter().position(leads).map(Some)
        };
        let above: SmallVec<[Option<usize>; 2]> = along.iter().map(above).collect::<Option<_>>()?;
        let mut known = Known::default();
        let named = self.representatives(&form.children[count..], &mut known);
        let mut parts: SmallVec<[SmallVec<[Id; 4]>; 2]> = SmallVec::from_elem(SmallVec::new(), count);
        let mut below: SmallVec<[TermId; 4]> = SmallVec::new();
        for (n, &child) in node.children.iter().enumerate() {
            let dims: SmallVec<[Option<usize>; 2]> =
                above.iter().map(|dim| local[(*dim)?].as_ref().and_then(|l| l[n])).collect();
            let alike = movers.get(&self.egraph.find(child)).into_iter().flatten().find_map(|other| {
                let (_, attrs, _) = self.arena.op(other.term)?;
                let is_same = other.children.len() == form.children.len()
                    && self.are_same(&other.children[count..], &form.children[count..])
                    && self.arena.op(other.term)?.0 == &moves
                    && moving.moving_along(&moved, &along, &dims, self.type_of(other.children[0])).as_ref()
                        == Some(attrs);
                is_same.then_some(other)
            });
            match alike {
                Some(other) => {
                    parts.iter_mut().zip(&other.children).for_each(|(part, &source)| part.push(source));
                    let mut given = self.representatives(&other.children[..count], &mut known);
                    given.extend_from_slice(&named);
                    below.push(self.again(other.term, &given)?);
                }
                // It has no such places, or one in place of all.
                None if dims.iter().flatten().all(|&dim| types[n].shape[dim] == 1) => {
                    parts.iter_mut().for_each(|part| part.push(child));
                    below.extend(self.representatives(&[child], &mut known));
                }
                None => return None,
            }
        }
        let after = self.again(node.term, &below)?;
        let mut operands: SmallVec<[TermId; 4]> = SmallVec::new();
        let mut is_there = true;
        for part in &parts {
            let terms = self.representatives(part, &mut known);
            let term = self.arena.call(&op, &attrs, slot, &terms, None).ok()?;
            is_there &= self.egraph.lookup(self.node(term, part)).is_some();
            operands.push(term);
        }
        let distinct: FxHashSet<TermId> = operands.iter().copied().collect();
        let computed: usize = distinct.iter().map(|&term| self.arena.ty(term).numel()).sum();
        let all = result.numel();
        // What copies has less to copy behind an operator that leaves less.
        let moves_less = computed == all && all < types[at].numel();
        if !is_there && computed >= all && !moves_less {
            return None;
        }
        let moved = moving.moving_along(&moved, &along, &above, self.arena.ty(operands[0]))?;
        operands.extend(named);
        let before = self.arena.call(&moves, &moved, 0, &operands, None).ok()?;
        is_pushed_down(&mut self.arena, before, after).then_some(Exchange { before, after, known })
    }

    /// An operator that computes each element by itself, with its result repeated in place of operands.
    fn expanded_after(&mut self, node: &Node, form: &Node) -> Option<Exchange> {
        expanded(&self.arena, form.term)?;
        let mut known = Known::default();
        let (mut plain, mut given): (SmallVec<[TermId; 4]>, SmallVec<[TermId; 4]>) = Default::default();
        for &child in &node.children {
            let repeats = |other: &&Node| expanded(&self.arena, other.term).is_some();
            let repeated = self.egraph[child].nodes.iter().find(repeats).cloned();
            let source = repeated.as_ref().map_or(child, |other| other.children[0]);
            let source = self.representatives(&[source], &mut known)[0];
            plain.push(source);
            given.push(match repeated {
                Some(other) => self.again(other.term, &[source])?,
                None => source,
            });
        }
        let (op, attrs, slot) = self.call_of(node.term)?;
        let (moves, moved, _) = self.call_of(form.term)?;
        let result = self.arena.call(&op, &attrs, slot, &plain, None).ok()?;
        let whole = AttrValue::shape(&self.arena.ty(node.term).shape);
        let moved = moved.iter().map(|_| whole.clone()).collect();
        let before = self.arena.call(&moves, &moved, 0, &[result], None).ok()?;
        let after = self.again(node.term, &given)?;
        is_pushed_down(&mut self.arena, before, after).then_some(Exchange { before, after, known })
    }

    /// An operator that computes each element by itself, with the elements of its result moved in place of those of its operands.
    fn elements_after(&mut self, node: &Node, form: &Node) -> Option<Exchange> {
        mover(&self.arena, form.term).filter(|(moving, ..)| moving.only_moves())?;
        let (&source, named) = form.children.split_first()?;
        let mut known = Known::default();
        let named_terms = self.representatives(named, &mut known);
        let (mut plain, mut given): (SmallVec<[TermId; 4]>, SmallVec<[TermId; 4]>) = Default::default();
        for &child in &node.children {
            if self.type_of(child).rank() == 0 {
                let number = self.representatives(&[child], &mut known)[0];
                plain.push(number);
                given.push(number);
                continue;
            }
            let alike = |other: &&Node| {
                other.head == form.head
                    && self.are_same(&other.children[1..], named)
                    && self.type_of(other.children[0]).shape == self.type_of(source).shape
            };
            let other = self.egraph[child].nodes.iter().find(alike)?.children[0];
            let other = self.representatives(&[other], &mut known)[0];
            let operands: SmallVec<[TermId; 4]> = [other].into_iter().chain(named_terms.iter().copied()).collect();
            plain.push(other);
            given.push(self.again_as(form.term, &operands)?);
        }
        let result = self.again_as(node.term, &plain)?;
        let operands: SmallVec<[TermId; 4]> = [result].into_iter().chain(named_terms).collect();
        let before = self.again_as(form.term, &operands)?;
        let after = self.again(node.term, &given)?;
        is_pushed_down(&mut self.arena, before, after).then_some(Exchange { before, after, known })
    }

    /// The operator at the root of a term, on operands of other types.
    fn again_as(&mut self, term: TermId, operands: &[TermId]) -> Option<TermId> {
        let (op, attrs, slot) = self.call_of(term)?;
        self.arena.call(&op, &attrs, slot, operands, None).ok()
    }

    /// The operator at the root of a term.
    fn call_of(&self, term: TermId) -> Option<(Op, Attrs, u32)> {
        self.arena.op(term).map(|(op, attrs, slot)| (op.clone(), attrs.clone(), slot))
    }

    /// The operator at the root of a term, on other operands.
    fn again(&mut self, term: TermId, operands: &[TermId]) -> Option<TermId> {
        let (op, attrs, slot) = self.call_of(term)?;
        let stated = self.arena.ty(term).clone();
        self.arena.call(&op, &attrs, slot, operands, Some(&stated)).ok()
    }

    /// Terms of classes.
    fn representatives(&self, ids: &[Id], known: &mut Known) -> SmallVec<[TermId; 4]> {
        let term = |&id: &Id| {
            let term = self.egraph[id].data.term;
            known.insert(term, self.egraph.find(id));
            term
        };
        ids.iter().map(term).collect()
    }

    fn are_same(&self, xs: &[Id], ys: &[Id]) -> bool {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(&x, &y)| self.egraph.find(x) == self.egraph.find(y))
    }

    /// Adds a term over those that are `known`.
    fn add_all(&mut self, term: TermId, known: &Known) -> Id {
        if let Some(&id) = known.get(&term) {
            return id;
        }
        let operands = self.arena.term(term).operands.clone();
        let operands: SmallVec<[Id; 4]> = operands.iter().map(|&operand| self.add_all(operand, known)).collect();
        self.add(term, &operands)
    }
}

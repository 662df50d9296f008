//! Weights of layers that one side keeps in one tensor, as a loop over layers does. While weights are matched by their uses, each part is
//! an input of its own.

use std::ops::Range;

use super::Expression;
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{AttrValue, Attrs, Graph, NodeId, NodeKind};
use crate::ops::Movement;
use crate::prove::Side;

/// The most parts of one tensor.
const MAX_PARTS: usize = 4096;

/// An input of which the graph reads one part at a time along the first dimension, and every part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    /// By its number among the inputs.
    pub input: usize,
    /// The numbers of its parts, beyond those of the inputs.
    pub parts: Range<usize>,
}

/// The part of its operand that a slice takes, if that is one along the first dimension.
pub(super) fn part_of_slice(attrs: &Attrs) -> Option<usize> {
    let [dim, start, end, step] = [0, 1, 2, 3].map(|at| attrs.get(at).and_then(AttrValue::as_int));
    let start = start?;
    (dim == Some(0) && step == Some(1) && end == start.checked_add(1)).then(|| usize::try_from(start).ok())?
}

impl Plan {
    /// The stacks among the free inputs of `side`, whose graph is `graph`.
    pub(super) fn stacks(&self, side: Side, graph: &Graph) -> Vec<Stack> {
        let slots = self.side(side);
        let mut next = slots.len();
        let mut found = Vec::new();
        for (input, &id) in graph.inputs().iter().enumerate() {
            if slots.get(input).is_some_and(Slot::is_free)
                && let Some(count) = parts_read(graph, id)
            {
                found.push(Stack { input, parts: next..next + count });
                next += count;
            }
        }
        found
    }

    /// Adds the parts of `stacks` to the inputs of `side`.
    pub(super) fn unstack(&mut self, side: Side, stacks: &[Stack]) {
        let slots = self.side_mut(side);
        for stack in stacks {
            let mut part = slots[stack.input].clone();
            part.input.ty.shape[0] = 1;
            (part.content, part.checksum) = (None, None);
            slots.extend(stack.parts.clone().map(|_| part.clone()));
        }
    }

    /// Takes the parts out again. What all of them are is what their stack is.
    pub(super) fn stack(&mut self, stacks: [&[Stack]; 2]) {
        let sides = [Side::A, Side::B];
        let mut pairs = Vec::new();
        let mut joined = Vec::new();
        for (own, others, side) in [(stacks[0], stacks[1], sides[0]), (stacks[1], stacks[0], sides[1])] {
            for stack in own {
                if side == Side::A
                    && let Some(other) = others.iter().find(|other| self.are_same(stack, other))
                {
                    pairs.push((stack.input, other.input));
                } else if let Some(expression) = self.of_parts(side, stack, others) {
                    joined.push((side, stack.input, expression));
                }
            }
        }
        self.drop_parts(stacks);
        for (i, j) in pairs {
            self.pair(i, j, Source::Use);
        }
        for (side, target, expression) in joined {
            self.derive(side, target, expression, Source::Use);
        }
    }

    /// Whether each part of a stack of A is the same part of a stack of B.
    fn are_same(&self, of_a: &Stack, of_b: &Stack) -> bool {
        let same = |(i, j): (usize, usize)| matches!(self.a[i].meaning, Some((Meaning::Same(other), _)) if other == j);
        of_a.parts.len() == of_b.parts.len() && of_a.parts.clone().zip(of_b.parts.clone()).all(same)
    }

    /// A stack over inputs of the other side, if all its parts are; `stacks` are the other side's.
    fn of_parts(&self, side: Side, stack: &Stack, stacks: &[Stack]) -> Option<Expression> {
        let others = self.side(side.other());
        let part = |i: usize| match &self.side(side)[i].meaning {
            Some((Meaning::Same(other), _)) => Some(Expression::of_input(*other, &others[*other].input.ty)),
            Some((Meaning::Derived(expression), _)) => Some(expression.clone()),
            None => None,
        };
        let parts: Vec<Expression> = stack.parts.clone().map(part).collect::<Option<_>>()?;
        let is_part = |i: usize| stacks.iter().any(|stack| stack.parts.contains(&i));
        if parts.iter().flat_map(Expression::inputs).any(is_part) {
            return None;
        }
        let expression = Expression::concat(&parts, 0).ok()?;
        (*expression.ty() == self.side(side)[stack.input].input.ty).then_some(expression)
    }

    fn drop_parts(&mut self, stacks: [&[Stack]; 2]) {
        let counts = stacks.map(|stacks| stacks.iter().map(|stack| stack.parts.len()).sum::<usize>());
        let kept = [self.a.len() - counts[0], self.b.len() - counts[1]];
        self.a.truncate(kept[0]);
        self.b.truncate(kept[1]);
        for (side, others) in [(Side::A, kept[1]), (Side::B, kept[0])] {
            for slot in self.side_mut(side) {
                let of_part = match &slot.meaning {
                    Some((Meaning::Same(other), _)) => *other >= others,
                    Some((Meaning::Derived(expression), _)) => expression.inputs().any(|i| i >= others),
                    None => false,
                };
                if of_part {
                    slot.meaning = None;
                }
                slot.used = false;
            }
        }
        for side in [Side::A, Side::B] {
            let used: Vec<usize> = self.side(side).iter().flat_map(Slot::made_of).collect();
            for i in used {
                self.side_mut(side.other())[i].used = true;
            }
        }
    }
}

/// How many parts there are of an input that is read one part at a time, if every one is read.
fn parts_read(graph: &Graph, input: NodeId) -> Option<usize> {
    let &count = graph.node(input).types.first()?.shape.first()?;
    if count == 0 || count > MAX_PARTS {
        return None;
    }
    let mut read = vec![false; count];
    for user in graph.users(input) {
        let NodeKind::Op { op, attrs } = &graph.node(user).kind else { return None };
        let part = (op.movement() == Some(Movement::Slice)).then(|| part_of_slice(attrs))??;
        *read.get_mut(part)? = true;
    }
    let is_output = graph.outputs().iter().any(|output| output.value.node == input);
    (!is_output && read.into_iter().all(|part| part)).then_some(count)
}

//! A pair of terms written out for a person: as two `.mir` graphs, and as the rule that would make them equal.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Head, TermArena, TermId};
use super::bind::bind;
use super::kernel::{GraphLeaves, Side, Values, graph_terms};
use crate::eval::Constant;
use crate::ir::{AttrValue, Attrs, DType, Graph, GraphError, NodeId, Origin, Role, Value, text};
use crate::ops::{self, Op, OpDef, TypeError};

/// The name a reader knows a term by, if there is one.
pub(super) type NameOf<'a> = &'a dyn Fn(TermId) -> Option<String>;

/// Operators in a rule that is still readable. A term that is used several times is written out each time.
const MOST_OPERATORS: usize = 120;

/// Letters for the variables of a rule; the rest are numbered.
const LETTERS: [&str; 6] = ["x", "y", "z", "u", "v", "w"];

/// `term` as a graph in `.mir` text. Inputs of the arena are inputs of the graph.
pub(super) fn as_mir(arena: &TermArena, term: TermId, title: &str, name: NameOf) -> Result<String, GraphError> {
    let mut writer = GraphWriter { arena, name, graph: Graph::new(title), done: FxHashMap::default(), taken: 0 };
    // Inputs stand in the head of the text in the order in which the terms use them.
    let value = writer.value(term)?;
    let label = writer.graph.node(value.node).name.clone();
    writer.graph.add_output(&label, value);
    Ok(text::print(&writer.graph))
}

struct GraphWriter<'a> {
    arena: &'a TermArena,
    name: NameOf<'a>,
    graph: Graph,
    done: FxHashMap<TermId, Value>,
    /// Numbers given to nodes without a name.
    taken: usize,
}

impl GraphWriter<'_> {
    /// Recursion is as deep as the term, which the limit on the size of a window bounds.
    fn value(&mut self, term: TermId) -> Result<Value, GraphError> {
        if let Some(&value) = self.done.get(&term) {
            return Ok(value);
        }
        let ty = self.arena.ty(term).clone();
        let value = match (self.arena.head(term), self.arena.constant(term).and_then(Constant::uniform)) {
            (Head::Apply { op, attrs, slot }, None) => {
                let operands = &self.arena.term(term).operands;
                let operands: SmallVec<[Value; 4]> =
                    operands.iter().map(|&o| self.value(o)).collect::<Result<_, _>>()?;
                let label = self.label(term, op.name());
                let node = match op {
                    Op::Table(def) => self.graph.add_op(&label, def, attrs.clone(), &operands, Origin::default())?,
                    custom => {
                        let types = std::iter::repeat_n(ty, *slot as usize + 1);
                        self.graph.add_custom(
                            &label,
                            custom.clone(),
                            attrs.clone(),
                            &operands,
                            types,
                            Origin::default(),
                        )?
                    }
                };
                Value::new(node, *slot)
            }
            (_, Some(uniform)) if ty.rank() == 0 => {
                let label = self.label(term, "number");
                let (number, attrs) = ops::number(uniform, ty.dtype);
                self.graph.add_op(&label, number, attrs, &[], Origin::implicit())?.into()
            }
            (_, uniform) => match uniform.zip(ops::find("full")) {
                Some((uniform, full)) => {
                    let label = self.label(term, "full");
                    let attrs = [AttrValue::shape(&ty.shape), uniform.into(), AttrValue::DType(ty.dtype)];
                    self.graph.add_op(&label, full, Attrs::from_iter(attrs), &[], Origin::default())?.into()
                }
                None => {
                    let label = self.label(term, "input");
                    self.graph.add_input(&label, Role::User, ty, Origin::default()).into()
                }
            },
        };
        self.done.insert(term, value);
        Ok(value)
    }

    /// A name that no other node has.
    fn label(&mut self, term: TermId, otherwise: &str) -> String {
        let wanted = (self.name)(term).unwrap_or_else(|| otherwise.to_owned());
        let free = |name: &str| self.graph.nodes().all(|(_, n)| *n.name != *name);
        if free(&wanted) {
            return wanted;
        }
        loop {
            self.taken += 1;
            let name = format!("{wanted}.{}", self.taken);
            if free(&name) {
                return name;
            }
        }
    }
}

/// A rule that makes `a` and `b` equal, for a person to judge: inputs are variables, attributes the values that they have
/// here. `None` if either side uses an input that the other lacks, which no rule could fill in.
pub(super) fn rule_stub(name: &str, arena: &TermArena, a: TermId, b: TermId) -> Option<String> {
    let write = |first: TermId, second: TermId| {
        let mut writer = PatternWriter { arena, variables: FxHashMap::default(), open: true, left: MOST_OPERATORS };
        let first = writer.pattern(first)?;
        writer.open = false;
        Some((first, writer.pattern(second)?))
    };
    // The side with more variables is the one to match.
    let (before, after) = write(a, b).or_else(|| write(b, a))?;
    // A variable alone matches everything, which a left side may not.
    let is_variable = |text: &str| !text.contains('(');
    let (before, after) = if is_variable(&before) { (after, before) } else { (before, after) };
    if is_variable(&before) {
        return None;
    }
    Some(format!(
        "/// Say here why the two sides are equal, name attributes that may have any value, and add conditions.\n\
         rule {name} [real]:\n    {before}\n      => {after}\n"
    ))
}

/// The same for two graphs of one output each, whose inputs of one name are the same.
pub(crate) fn rule_between(name: &str, a: &Graph, b: &Graph) -> Result<Option<String>, TypeError> {
    let binding = bind(a, b).binding;
    let mut arena = TermArena::default();
    let mut roots = Vec::new();
    for (side, graph, inputs) in [(Side::A, a, &binding.a), (Side::B, b, &binding.b)] {
        let values = graph_terms(&mut arena, graph, &GraphLeaves::compared(graph, side, inputs))?;
        roots.extend(graph.outputs().first().map(|o| values[o.value.node.index()][o.value.slot as usize]));
    }
    Ok(match roots[..] {
        [x, y] => rule_stub(name, &arena, x, y),
        _ => None,
    })
}

struct PatternWriter<'a> {
    arena: &'a TermArena,
    variables: FxHashMap<TermId, String>,
    /// Whether new variables may be taken up; otherwise a term that needs one is refused.
    open: bool,
    /// Operators that may still be written.
    left: usize,
}

impl PatternWriter<'_> {
    fn pattern(&mut self, term: TermId) -> Option<String> {
        if let Some(name) = self.variables.get(&term) {
            return Some(name.clone());
        }
        if let Some(number) = scalar(self.arena, term) {
            return Some(number);
        }
        let arena = self.arena;
        match arena.head(term) {
            Head::Apply { op, attrs, slot } if arena.constant(term).is_none() => self.call(term, op, attrs, *slot),
            // A tensor whose elements are known is a variable too: rules have conditions for such.
            _ if self.open => {
                let fresh = match LETTERS.get(self.variables.len()) {
                    Some(letter) => (*letter).to_owned(),
                    None => format!("x{}", self.variables.len()),
                };
                self.variables.insert(term, fresh.clone());
                Some(fresh)
            }
            _ => None,
        }
    }

    fn call(&mut self, term: TermId, op: &Op, attrs: &Attrs, slot: u32) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        let operands = &self.arena.term(term).operands;
        let mut parts = operands.iter().map(|&o| self.pattern(o)).collect::<Option<Vec<_>>>()?;
        if let Some((fixed, usize::MAX)) = op.def().map(OpDef::operand_count) {
            // Operators of any number of operands list those behind the fixed ones.
            let listed = parts.split_off(fixed.min(parts.len()));
            parts.push(format!("[{}]", listed.join(", ")));
        }
        let mut out = format!("{}({}", op.name(), parts.join(", "));
        let mut separator = "; ";
        for (i, value) in attrs.iter().enumerate() {
            let default = op.def().and_then(|d| d.attrs.get(i)?.default.value());
            if !default.is_some_and(|d| d.is_same(value)) {
                let _ = write!(out, "{separator}{}={value}", op.attr_name(i)?);
                separator = ", ";
            }
        }
        out.push(')');
        if slot > 0 {
            let _ = write!(out, ".{slot}");
        }
        Some(out)
    }
}

/// A rank-0 constant as a number in a rule. Bools stay variables: a rule has no literal for them.
fn scalar(arena: &TermArena, term: TermId) -> Option<String> {
    let ty = arena.ty(term);
    let value = arena.constant(term)?.uniform()?;
    (ty.rank() == 0 && ty.dtype != DType::Bool).then(|| value.text(ty.dtype))
}

/// Names of a graph's values, by class.
pub(super) fn names(graphs: [(&Graph, &Values); 2]) -> FxHashMap<TermId, String> {
    let mut names = FxHashMap::default();
    for (graph, values) in graphs {
        for (id, node) in graph.nodes().filter(|(_, n)| !n.origin.implicit) {
            for (slot, &t) in values[id.index()].iter().enumerate() {
                names.entry(t).or_insert_with(|| value_name(graph, id, slot, &node.name));
            }
        }
    }
    names
}

fn value_name(graph: &Graph, id: NodeId, slot: usize, node: &str) -> String {
    if graph.node(id).types.len() == 1 { node.to_owned() } else { format!("{node}.{slot}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{RuleFile, RuleSet};

    fn graph(source: &str) -> Graph {
        text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"))
    }

    fn stub(a: &str, b: &str) -> String {
        let rule = rule_between("missing", &graph(a), &graph(b)).unwrap().unwrap();
        let file = RuleFile::new("stub.rules", &rule);
        RuleSet::library().unwrap().with_sources(&[file]).unwrap_or_else(|e| panic!("{rule}\n{e:?}"));
        rule
    }

    #[test]
    fn a_stub_is_a_rule_over_variables() {
        let rule = stub(
            "graph a(x: f32[4, 6]) { y = mul(tanh(x), 2.0)\n return y }",
            "graph b(x: f32[4, 6]) { y = add(tanh(x), tanh(x))\n return y }",
        );
        assert!(rule.contains("mul(tanh(x), 2.0)\n      => add(tanh(x), tanh(x))"), "{rule}");
    }

    #[test]
    fn stubs_of_lists_slots_and_attributes_are_read() {
        stub(
            "graph a(x: f32[2, 6], i: i64[3]) { y = permute(concat(x, x; dim=0); dims=[1, 0])\n
             z = index(y, i; dims=[0])\n return z }",
            "graph b(x: f32[2, 6], i: i64[3]) { y = index(concat(x, x; dim=0), i; dims=[1])\n
             z = permute(y; dims=[1, 0])\n return z }",
        );
        stub(
            "graph a(x: f32[2, 6]) { v, p = topk(x; k=2, dim=1)\n y = softmax(cast(p; dtype=f32); dim=1, dtype=f64)\n
             return y }",
            "graph b(x: f32[2, 6]) { v, p = topk(neg(x); k=2, dim=1, largest=false)\n
             y = softmax(cast(p; dtype=f64); dim=1)\n return y }",
        );
        stub(
            "graph a(x: f32[2, 6]) { y = gelu(add(x, -inf); approximate=\"tanh\")\n return y }",
            "graph b(x: f32[2, 6]) { return x }",
        );
    }

    #[test]
    fn the_side_that_uses_more_is_the_one_to_match() {
        let rule = stub(
            "graph a(x: f32[3], y: f32[3]) { z = neg(x)\n return z }",
            "graph b(x: f32[3], y: f32[3]) { z = sub(sub(y, x), y)\n return z }",
        );
        assert!(rule.contains("sub(sub(x, y), x)\n      => neg(y)"), "{rule}");
    }

    #[test]
    fn sides_over_different_inputs_have_no_rule() {
        let a = graph("graph a(x: f32[3], y: f32[3]) { z = neg(x)\n return z }");
        let b = graph("graph b(x: f32[3], y: f32[3]) { z = neg(y)\n return z }");
        assert_eq!(rule_between("missing", &a, &b).unwrap(), None);
    }
}

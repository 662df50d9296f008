//! From a proof in memory to a file.

use rustc_hash::FxHashMap;

use super::super::bind::Binding;
use super::super::kernel::arena::{self, Arena, HeadId, TermId, TypeId};
use super::super::kernel::{Lemma, Reason, Side, literal_leaf};
use super::format::{self, Certificate, Claim, FORMAT, Head, RuleName, Rules, Step, Type, Value};
use crate::ir::{AttrValue, Graph, NodeKind, TensorType};
use crate::ops::Op;
use crate::rules::{Rule, RuleSet};

/// What a file is written from.
pub struct Contents<'a> {
    pub graphs: [&'a Graph; 2],
    pub binding: &'a Binding,
    pub rules: &'a RuleSet,
    pub arena: &'a Arena,
    pub lemmas: &'a [Lemma],
    /// The lemmas that are needed, in order.
    pub needed: &'a [u32],
    pub cuts: &'a [(crate::ir::Value, crate::ir::Value)],
    pub claim: Claim,
}

impl Certificate {
    /// The file for a proof. Lemmas that nothing needs are left out.
    pub fn write(contents: &Contents) -> Certificate {
        let mut writer = Writer {
            contents,
            used: FxHashMap::default(),
            values: FxHashMap::default(),
            heads: FxHashMap::default(),
            terms: FxHashMap::default(),
            literals: None,
            file: Certificate {
                format: FORMAT.to_owned(),
                tool: env!("CARGO_PKG_VERSION").to_owned(),
                rules: Rules { fingerprint: identity(contents.rules), used: Vec::new() },
                claim: contents.claim.clone(),
                binding: binding(contents),
                values: Vec::new(),
                heads: Vec::new(),
                terms: Vec::new(),
                steps: Vec::new(),
                cuts: Vec::new(),
            },
        };
        for &n in contents.needed {
            if let Some(lemma) = contents.lemmas.get(n as usize) {
                let step = writer.step(lemma);
                writer.file.steps.push(step);
            }
        }
        let number = |v: crate::ir::Value| [v.node.index() as u32, v.slot];
        writer.file.cuts = contents
            .cuts
            .iter()
            .map(|&(x, y)| {
                let ([a, i], [b, j]) = (number(x), number(y));
                [a, i, b, j]
            })
            .collect();
        writer.file
    }
}

/// The fingerprint of a rule set as files spell it.
pub fn identity(rules: &RuleSet) -> String {
    format!("{:016x}", rules.fingerprint())
}

fn binding(contents: &Contents) -> format::Binding {
    let side = |graph: &Graph, numbers: &[u32]| {
        let names = graph.inputs().iter().map(|&i| graph.node(i).name.to_string());
        names.zip(numbers.iter().copied()).collect()
    };
    let [a, b] = contents.graphs;
    format::Binding {
        types: contents.binding.inputs.iter().map(|i| Type::from(&i.ty)).collect(),
        a: side(a, &contents.binding.a),
        b: side(b, &contents.binding.b),
    }
}

struct Writer<'a> {
    contents: &'a Contents<'a>,
    used: FxHashMap<RuleName, u32>,
    values: FxHashMap<AttrValue, u32>,
    /// Operators outside the table are one head for each type of their result.
    heads: FxHashMap<(HeadId, TypeId), u32>,
    terms: FxHashMap<TermId, u32>,
    /// Where the literals of both graphs stand.
    literals: Option<FxHashMap<(arena::Head, TensorType), (format::Side, u32)>>,
    file: Certificate,
}

impl Writer<'_> {
    fn step(&mut self, lemma: &Lemma) -> Step {
        let (before, after) = (self.term(lemma.before), self.term(lemma.after));
        match &lemma.reason {
            Reason::Rule { rule, bindings } => Step::Rule {
                rule: self.rule(rule),
                before,
                after,
                tensors: bindings.tensors.iter().map(|t| t.map(|t| self.term(t))).collect(),
                lists: bindings
                    .lists
                    .iter()
                    .map(|l| l.as_ref().map(|l| l.iter().map(|&t| self.term(t)).collect()))
                    .collect(),
                attrs: bindings.attrs.iter().map(|v| v.as_ref().map(|v| self.value(v))).collect(),
            },
            Reason::SplitSlice => Step::SplitSlice { before, after },
        }
    }

    fn rule(&mut self, rule: &Rule) -> u32 {
        let twins = |r: &Rule| r.name == rule.name && r.reversed == rule.reversed;
        let mut same = self.contents.rules.rules().iter().filter(|r| twins(r));
        // A rule that is not in the set gets a number that no reader accepts.
        let instance = same.position(|r| r.lhs == rule.lhs && r.rhs == rule.rhs).map_or(u32::MAX, |n| n as u32);
        let name = RuleName { name: rule.name.to_string(), reversed: rule.reversed, instance };
        if let Some(&known) = self.used.get(&name) {
            return known;
        }
        self.file.rules.used.push(name.clone());
        let number = self.used.len() as u32;
        self.used.insert(name, number);
        number
    }

    fn value(&mut self, value: &AttrValue) -> u32 {
        if let Some(&known) = self.values.get(value) {
            return known;
        }
        self.file.values.push(Value::from(value));
        let number = self.values.len() as u32;
        self.values.insert(value.clone(), number);
        number
    }

    /// The number of a term, after everything below it.
    fn term(&mut self, term: TermId) -> u32 {
        let arena = self.contents.arena;
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.terms.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = &arena.term(top).operands;
            let before = stack.len();
            stack.extend(operands.iter().copied().filter(|o| !self.terms.contains_key(o)));
            if stack.len() == before {
                let mut row = vec![self.head(top)];
                row.extend(operands.iter().map(|o| self.terms[o]));
                self.file.terms.push(row);
                self.terms.insert(top, self.terms.len() as u32);
                stack.pop();
            }
        }
        self.terms[&term]
    }

    fn head(&mut self, term: TermId) -> u32 {
        let arena = self.contents.arena;
        let key = (arena.term(term).head, arena.term(term).ty);
        if let Some(&known) = self.heads.get(&key) {
            return known;
        }
        let head = match arena.head(term) {
            arena::Head::Input(n) => Head::Input(*n),
            arena::Head::Random(draw) => Head::Leaf(draw.side.into(), draw.node, draw.slot),
            literal @ arena::Head::Literal(_) => {
                let (side, node) = self.literal(literal, arena.ty(term));
                Head::Leaf(side, node, 0)
            }
            arena::Head::Apply { op, attrs, slot } => {
                let values: Vec<u32> = attrs.iter().map(|v| self.value(v)).collect();
                match op {
                    Op::Table(def) => Head::Op { op: def.name.to_owned(), slot: *slot, attrs: values },
                    Op::Custom(op) => Head::Custom {
                        op: op.name.clone(),
                        slot: *slot,
                        attrs: op.attrs.iter().cloned().zip(values).collect(),
                        result: Type::from(arena.ty(term)),
                    },
                }
            }
        };
        self.file.heads.push(head);
        let number = self.heads.len() as u32;
        self.heads.insert(key, number);
        number
    }

    fn literal(&mut self, head: &arena::Head, ty: &TensorType) -> (format::Side, u32) {
        let graphs = self.contents.graphs;
        let literals = self.literals.get_or_insert_with(|| {
            let mut all = FxHashMap::default();
            for (side, graph) in [(format::Side::A, graphs[0]), (format::Side::B, graphs[1])] {
                for (id, node) in graph.nodes() {
                    if let NodeKind::Literal(literal) = &node.kind {
                        let key = (literal_leaf(literal), node.types[0].clone());
                        all.entry(key).or_insert((side, id.index() as u32));
                    }
                }
            }
            all
        });
        // Literals come from the graphs alone.
        literals.get(&(head.clone(), ty.clone())).copied().unwrap_or((format::Side::A, u32::MAX))
    }
}

impl From<Side> for format::Side {
    fn from(side: Side) -> Self {
        match side {
            Side::A => format::Side::A,
            Side::B => format::Side::B,
        }
    }
}

//! Binding files: which inputs of two graphs are the same, one `name = expression` a line.

use std::borrow::Cow;

use miette::SourceSpan;
use rustc_hash::FxHashMap;

use super::ast::{
    Binding, Body, CallExpr, Equality, File, Input, Name, Operand, Purpose, Returned, Statement, Typed, Yielded,
};
use super::build::build;
use super::error::{MirError, MirErrors, nearest};
use super::read::read_equalities;
use crate::ir::{Graph, NodeId, NodeKind, Origin, Role};

/// Reads a binding file for graphs A and B. A line gives an input of B in terms of inputs of A, or an input of A, if B has
/// none of that name, in terms of inputs of B:
///
/// ```text
/// qkv_proj.weight = concat(q_proj.weight, k_proj.weight, v_proj.weight; dim=0)
/// ```
///
/// The first graph that is returned has the inputs of B, and an output for every input of A that is given; its name
/// is the input's. The second one is the same for inputs of B. `x = y` is written as `alias`.
///
/// # Errors
/// Text that does not parse, names that there are not, types that differ, an input that is given twice or is
/// both given and used.
pub fn parse_equalities(name: &str, source: &str, a: &Graph, b: &Graph) -> Result<[Graph; 2], MirErrors> {
    super::checked(name, source, || {
        let lines = read_equalities(source)?;
        let of = [Inputs::of(a), Inputs::of(b)];
        let (mut given, mut errors) = ([Vec::new(), Vec::new()], Vec::new());
        let mut seen: FxHashMap<(usize, &str), SourceSpan> = FxHashMap::default();
        for line in &lines {
            let name = &*line.target.text;
            let by_name = [1, 0].into_iter().find_map(|side| Some((side, *of[side].0.get_key_value(name)?.0)));
            let by_number = || {
                let other = |side: usize| names(&line.value).all(|n| of[1 - side].0.contains_key(n));
                [1, 0].into_iter().filter(|&side| other(side)).find_map(|side| Some((side, of[side].number(name)?)))
            };
            let Some((side, name)) = by_name.or_else(by_number) else {
                let names = of.iter().flat_map(|inputs| inputs.0.keys().copied());
                let help = nearest(name, names);
                errors.push(MirError::UnknownName { name: name.to_owned(), span: line.target.span, help });
                continue;
            };
            if let Some(first) = seen.insert((side, name), line.target.span) {
                errors.push(MirError::DefinedTwice { name: name.to_owned(), span: line.target.span, first });
            }
            given[side].push((name, line));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let graphs = [over(b, &of[0], &given[0])?, over(a, &of[1], &given[1])?];
        // What is given cannot be used to give others: the two could define each other.
        for (side, graph) in graphs.iter().enumerate() {
            for id in used(graph) {
                let name = &*graph.node(id).name;
                if let Some(&span) = seen.get(&(1 - side, name)) {
                    let reason = format!("`{name}` is given here and used in another line");
                    errors.push(MirError::Type { reason, span, help: None });
                }
            }
        }
        if errors.is_empty() { Ok(graphs) } else { Err(errors) }
    })
}

/// The inputs of a graph by name.
struct Inputs<'g>(FxHashMap<&'g str, NodeId>, &'g Graph);

impl<'g> Inputs<'g> {
    fn of(graph: &Graph) -> Inputs<'_> {
        Inputs(graph.inputs().iter().map(|&id| (&*graph.node(id).name, id)).collect(), graph)
    }

    /// The name of the input that `arg7` stands for where none is called so: that of input number 7, counted from 0. Programs of
    /// JAX name their arguments in some of the forms they are printed in, and count them in others.
    fn number(&self, name: &str) -> Option<&'g str> {
        let digits = name.strip_prefix("arg").filter(|n| n.len() == 1 || !n.starts_with('0'))?;
        self.1.inputs().get(digits.parse::<usize>().ok()?).map(|&id| &*self.1.node(id).name)
    }
}

/// The names that an expression uses.
fn names<'e>(call: &'e CallExpr) -> Box<dyn Iterator<Item = &'e str> + 'e> {
    Box::new(call.operands.iter().flat_map(|operand| match operand {
        Operand::Name(name) => Box::new(std::iter::once(&*name.text)),
        Operand::Call(call) => names(call),
        Operand::Scalar(..) => Box::new(std::iter::empty()) as Box<dyn Iterator<Item = &'e str> + 'e>,
    }))
}

/// The lines `given`, which are about inputs of `target`, as a graph over the inputs of `source`.
fn over(source: &Graph, target: &Inputs, given: &[(&str, &Equality)]) -> Result<Graph, Vec<MirError>> {
    let nowhere = SourceSpan::from((0, 0));
    let inputs = source.inputs().iter().map(|&id| {
        let node = source.node(id);
        let role = if let NodeKind::Input { role } = node.kind { role } else { Role::User };
        let local = Name { text: Cow::Owned(node.name.to_string()), span: nowhere };
        let binding = Binding { local, real: None };
        Input { binding, role, ty: node.types[0].clone(), origin: Origin::default() }
    });
    // Both graphs may have an input of this name.
    let local = |name: &str, line: &Equality| Name { text: format!("{name} =").into(), span: line.target.span };
    let own = |name: &str, line: &Equality| Name { text: name.to_owned().into(), span: line.target.span };
    let file = File {
        config: Vec::new(),
        name: Name { text: "binding".into(), span: nowhere },
        inputs: inputs.collect(),
        statements: given
            .iter()
            .map(|(name, line)| Statement {
                results: vec![Typed { binding: Binding { local: local(name, line), real: None }, stated: None }],
                body: Body::Call(line.value.clone()),
                origin: Origin::default(),
            })
            .collect(),
        given: Vec::new(),
        returned: given.iter().map(|(name, line)| returned(local(name, line), own(name, line))).collect(),
    };
    let graph = build(&file)?;
    let mut errors = Vec::new();
    for ((name, line), output) in given.iter().zip(graph.outputs()) {
        let (found, Some(&wanted)) = (graph.ty(output.value), target.0.get(name)) else { continue };
        let wanted = &target.1.node(wanted).types[0];
        if found != wanted {
            let reason = format!("`{name}` is {wanted}, not {found}");
            errors.push(MirError::Type { reason, span: line.value.span, help: None });
        }
    }
    if errors.is_empty() { Ok(graph) } else { Err(errors) }
}

/// The value of one name, returned under another.
fn returned<'s>(value: Name<'s>, name: Name<'s>) -> Returned<'s> {
    Returned { value: Yielded::Tensor { value, name: Some(name) }, target: Purpose::Result(None) }
}

/// The inputs that some operator reads.
fn used(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    let read = graph.operators().flat_map(|(id, _)| graph.operands(id));
    read.map(|v| v.node).filter(|&id| matches!(graph.node(id).kind, NodeKind::Input { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn sides() -> [Graph; 2] {
        let a = "graph a(x: f32[2, 3], q: param f32[2, 3], k: param f32[4, 3]) { return x }";
        let b = "graph b(y: f32[2, 3], qk: param f32[6, 3], k: param f32[3, 4]) { return y }";
        [a, b].map(|text| parse("side", text).unwrap())
    }

    fn read(text: &str) -> Result<[Graph; 2], String> {
        let [a, b] = sides();
        parse_equalities("names", text, &a, &b).map_err(|e| e.errors[0].to_string())
    }

    #[test]
    fn lines_are_graphs_over_the_other_sides_inputs() {
        let [of_a, of_b] = read("qk = concat(q, k; dim=0) // merged\n y = x\n").unwrap();
        assert_eq!((of_a.outputs().len(), of_b.outputs().len()), (0, 2));
        assert_eq!(&*of_b.outputs()[0].name, "qk");
        let [_, of_b] = read("arg1 = concat(q, k; dim=0)").unwrap();
        assert_eq!(&*of_b.outputs()[0].name, "qk");
        let [of_a, of_b] = read("q = slice(qk; dim=0, end=2) k = permute(k; dims=[1, 0])").unwrap();
        assert_eq!((of_a.outputs().len(), of_b.outputs().len()), (1, 1));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for (text, error) in [
            ("qk = concat(q, k; dim=1)", "concat"),
            ("qk = concat(q, q; dim=0)", "`qk` is f32[6, 3], not f32[4, 3]"),
            ("kq = concat(q, k; dim=0)", "nothing is called `kq`"),
            ("qk = concat(q, z; dim=0)", "nothing is called `z`"),
            ("y = x y = q", "`y` is defined twice"),
            ("q = slice(qk; dim=0, end=2) qk = concat(q, k; dim=0)", "given here and used"),
            ("y = ", "expected"),
            ("y", "expected"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(error), "{text}: {found}");
        }
    }
}

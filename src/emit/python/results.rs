//! What a program returns, in its structure: tuples and dicts, since which container holds a part does not matter.

use super::text::{quoted, tuple, value};
use crate::emit::program::Program;
use crate::ir::{Path, ResultPosition, Step};

/// A result, or a container of results.
enum Part {
    Leaf(String),
    Container(Vec<(Step, Part)>),
}

/// The expression that is returned.
pub(super) fn returned(program: &Program, names: &[String]) -> String {
    let graph = program.graph;
    let tensors =
        graph.outputs().iter().zip(&program.outputs).filter_map(|(o, &id)| Some((o.place()?, names[id].clone())));
    let constants = graph.constant_outputs().iter().map(|o| (&o.place, value(&o.value)));
    let mut leaves: Vec<(&ResultPosition, String)> = tensors.chain(constants).collect();
    leaves.sort_by_key(|(place, _)| place.position);
    // Data that a container holds beside its leaves is none of them.
    leaves.retain(|(place, _)| !place.path.as_ref().is_some_and(is_context));
    structured(&leaves).unwrap_or_else(|| match leaves.as_slice() {
        [] => "None".to_owned(),
        [(_, one)] => one.clone(),
        all => tuple(all.iter().map(|(_, name)| name.clone())),
    })
}

fn is_context(path: &Path) -> bool {
    matches!(path.0.last(), Some(Step::Name(name)) if &**name == "(context)")
}

/// The structure that the paths of the leaves say; `None` where they say none.
fn structured(leaves: &[(&ResultPosition, String)]) -> Option<String> {
    let mut root = None;
    for (place, expression) in leaves {
        insert(&mut root, &place.path.as_ref()?.0, expression)?;
    }
    Some(shown(&root?))
}

fn insert(at: &mut Option<Part>, path: &[Step], expression: &str) -> Option<()> {
    let Some((step, rest)) = path.split_first() else {
        return at.replace(Part::Leaf(expression.to_owned())).is_none().then_some(());
    };
    let Part::Container(parts) = at.get_or_insert_with(|| Part::Container(Vec::new())) else { return None };
    if let Some((_, part)) = parts.iter_mut().find(|(s, _)| s == step) {
        let mut held = Some(std::mem::replace(part, Part::Container(Vec::new())));
        insert(&mut held, rest, expression)?;
        *part = held?;
        return Some(());
    }
    let mut part = None;
    insert(&mut part, rest, expression)?;
    parts.push((step.clone(), part?));
    Some(())
}

fn shown(part: &Part) -> String {
    let parts = match part {
        Part::Leaf(expression) => return expression.clone(),
        Part::Container(parts) => parts,
    };
    let in_order = parts.iter().enumerate().all(|(i, (step, _))| *step == Step::Index(i as i64));
    if in_order {
        return tuple(parts.iter().map(|(_, part)| shown(part)));
    }
    let entries = parts.iter().map(|(step, part)| match step {
        Step::Index(i) => format!("{i}: {}", shown(part)),
        Step::Name(name) => format!("{}: {}", quoted(name), shown(part)),
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(paths: &[Option<Vec<Step>>]) -> String {
        let places: Vec<ResultPosition> =
            (0..).zip(paths).map(|(position, p)| ResultPosition { position, path: p.clone().map(Path) }).collect();
        let leaves: Vec<(&ResultPosition, String)> = places.iter().map(|p| (p, format!("r{}", p.position))).collect();
        structured(&leaves).unwrap_or_default()
    }

    #[test]
    fn results_have_their_structure() {
        let (index, name) = (Step::Index, |n: &str| Step::Name(n.into()));
        assert_eq!(result(&[Some(vec![])]), "r0");
        assert_eq!(result(&[Some(vec![index(0)])]), "(r0,)");
        let nested = [vec![name("a"), index(0)], vec![name("a"), index(1)], vec![name("odd \" key")]];
        assert_eq!(result(&nested.map(Some)), r#"{"a": (r0, r1), "odd \" key": r2}"#);
        assert_eq!(result(&[Some(vec![]), Some(vec![])]), "");
        assert_eq!(result(&[None, Some(vec![index(0)])]), "");
    }
}

//! Programs of JAX, TensorFlow and other front ends of XLA: the text form of StableHLO modules.
//!
//! `read` finds words and brackets (`ast`), `form` brings every way to print an operation to one, `attribute`, `types`, `literal`
//! and `location` read its parts. `module` finds the functions, `lower` walks their operations, `control` dissolves calls, loops
//! and branches, `convert` turns each operation into operators of the table, and `opaque` keeps what has no counterpart.

mod ast;
mod attribute;
mod control;
mod convert;
mod error;
mod form;
mod literal;
mod live;
mod location;
mod lower;
mod lowering;
mod module;
mod opaque;
mod product;
mod read;
mod scope;
#[cfg(test)]
mod tests;
mod types;

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use lower::Check;

use self::ast::{File, Tree, Use};
use self::error::Error;
use self::location::{Locations, dotted};
use self::lower::Lower;
use self::module::{Function, Module};
use self::scope::{Scope, ScopeValue};
use self::types::Type;
use super::LoadError;
use super::builder::{COMPLEX, CONTEXT};
use super::kernels::show_kernels;
use crate::ir::{self, AttrValue, Graph, Origin, Output, Role, Step, Target, TensorType, Value};

/// Whether a text looks like an MLIR module rather than one of the other formats.
pub fn is_module(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start).filter(|l| !l.is_empty() && !l.starts_with("//"));
    let starts = ["module", "\"builtin.module\"", "builtin.module", "func.func", "#", "!", "{-#"];
    lines.next().is_some_and(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Reads the graph of a module: that of its function `main`, or of its only one. `path` is what diagnostics call it.
///
/// # Errors
/// Text that is no module, values that nothing defines, and types that do not fit; each with its line.
pub fn read_text(path: &Path, text: &str) -> Result<Graph, LoadError> {
    let read = || {
        let file = read::read(text)?;
        let module = Module::of(&file)?;
        let main = main_of(&module)?;
        let mut lower = lowering(path, &file, &module, main)?;
        outputs(&mut lower.lower, main, &lower.results)?;
        show_kernels(&mut lower.lower.builder.graph);
        Ok(live::only(lower.lower.builder.graph))
    };
    read().map_err(|error: Error| error.in_file(path, text))
}

/// A test of the StableHLO project: a function that compares values.
pub struct Tests {
    /// What reports call the function.
    pub function: String,
    /// Its graph; the two values of every comparison are outputs, in order.
    pub graph: Graph,
    /// What each test asks for.
    pub checks: Vec<Check>,
    /// Comparisons of values whose types the IR lacks.
    pub uncompared: usize,
}

/// Reads every function of a module that compares values. What it takes as arguments, and what a function calls that is read
/// beside it, stays as it is.
///
/// # Errors
/// As [`read_text`], for each function of its own; the outer error is that of the module.
pub fn read_tests(path: &Path, text: &str) -> Result<Vec<Result<Tests, LoadError>>, LoadError> {
    let place = |error: Error| error.in_file(path, text);
    let file = read::read(text).map_err(place)?;
    let module = Module::of(&file).map_err(place)?;
    let tested = |function: &&Function| tests_something(function.body);
    let tests = module.functions.iter().filter(tested).map(|function| {
        let Lowered { lower, .. } = lowering(path, &file, &module, function).map_err(place)?;
        let (mut graph, checks) = (lower.builder.graph, lower.checks);
        for (i, check) in checks.iter().enumerate() {
            graph.add_output(&format!("found {i}"), check.found);
            graph.add_output(&format!("wanted {i}"), check.wanted);
        }
        let function = function.name.to_owned();
        Ok(Tests { function, graph: live::only(graph), checks, uncompared: lower.foreign_checks })
    });
    Ok(tests.collect())
}

fn tests_something(region: &ast::Region) -> bool {
    region.operations.iter().any(|o| {
        o.name.starts_with("check.")
            || o.name.ends_with("custom_call")
                && o.trees.iter().any(|t| matches!(t, Tree::Symbol(name) if name.starts_with("check.")))
    })
}

fn main_of<'m, 't, 's>(module: &'m Module<'t, 's>) -> Result<&'m Function<'t, 's>, Error> {
    match (module.get("main"), &module.functions[..]) {
        (Some(main), _) => Ok(main),
        (None, [only]) => Ok(only),
        (None, []) => Err(Error::new(0, "the module has no functions")),
        (None, _) => Err(Error::new(0, "the module has several functions and none is called `main`")),
    }
}

/// A function that has been lowered.
struct Lowered<'m, 't, 's> {
    lower: Lower<'m, 't, 's>,
    results: Vec<ScopeValue>,
}

fn lowering<'m, 't, 's>(
    path: &'m Path,
    file: &'t File<'s>,
    module: &'m Module<'t, 's>,
    main: &'m Function<'t, 's>,
) -> Result<Lowered<'m, 't, 's>, Error> {
    let types: FxHashMap<&'s str, &'t str> = file
        .aliases
        .iter()
        .filter_map(|(name, trees)| match &trees[..] {
            [Tree::Angled(text), ..] if name.starts_with('!') => Some((*name, *text)),
            _ => None,
        })
        .collect();
    let resources = literal::resources(&file.resources);
    let mut lower = Lower::new(path, module, Locations::new(&file.aliases), resources, types);
    let mut scope = Scope::default();
    let mut paths = FxHashSet::default();
    for (i, argument) in main.arguments.iter().enumerate() {
        let (ty, complex) = match lower.ty(argument.ty) {
            Type::Tensor(ty) => (ty, false),
            Type::Complex(part) => {
                let pairs = TensorType::new(part.dtype, [&part.shape[..], &[2]].concat().as_slice());
                (pairs.map_err(|error| Error::new(main.at, error.to_string()))?, true)
            }
            Type::Foreign(text) => {
                let reason =
                    format!("argument `{}` has the type `{text}`, which this tool has no tensors of", argument.name);
                return Err(
                    Error::new(main.at, reason).help("sizes have to be known, and elements numbers of a usual type")
                );
            }
        };
        let info = argument.attributes.iter().find(|(key, _)| *key == "jax.arg_info").and_then(|(_, a)| a.text());
        let path = info.or_else(|| lower.locations.name(argument.location)).map(dotted);
        // TensorFlow gives all arguments one name.
        let name = path.filter(|p| !p.is_empty() && paths.insert(p.clone())).unwrap_or_else(|| format!("arg{i}"));
        let role = if name.starts_with("params.") { Role::Parameter } else { Role::User };
        let name = lower.builder.names.fresh(&name);
        let value = Value::from(lower.builder.graph.add_input(&name, role, ty, Origin::default()));
        let bound = match complex {
            false => ScopeValue::Tensor(value),
            true => {
                lower.builder.graph.add_constant_input(&format!("elements of {name}"), AttrValue::str(COMPLEX));
                ScopeValue::Complex(lower.parts_of(&name, value).map_err(|refusal| Error::refused(main.at, refusal))?)
            }
        };
        if !scope.bind(Use { name: argument.name, index: 0 }, bound) {
            return Err(Error::new(main.at, format!("`{}` is defined twice", argument.name)));
        }
    }
    let results = lower.region(&mut scope, main.body, "")?;
    Ok(Lowered { lower, results })
}

/// Adds what the function gives, and what it does beside that.
fn outputs(lower: &mut Lower, main: &Function, results: &[ScopeValue]) -> Result<(), Error> {
    let mut complex = Vec::new();
    for (i, bound) in results.iter().enumerate() {
        let value = match bound {
            ScopeValue::Tensor(value) => *value,
            ScopeValue::Complex(parts) => {
                lower.pairs_of(&format!("result {i}"), *parts).map_err(|refusal| Error::refused(main.at, refusal))?
            }
            ScopeValue::Foreign(foreign) => opaque::materialised(lower, foreign, &format!("result {i}"))?,
        };
        let info = main.results.get(i).and_then(|a| a.iter().find(|(key, _)| *key == "jax.result_info"));
        let path = info.and_then(|(_, a)| a.text()).and_then(returned_path);
        let name = path.as_ref().map(ToString::to_string).filter(|n| n != ".").unwrap_or_else(|| format!("result{i}"));
        let graph = &mut lower.builder.graph;
        if matches!(bound, ScopeValue::Complex(_)) {
            complex.push(path.as_ref().map(|path| path.then(Step::Name(CONTEXT.into()))));
        }
        let target = Target::Result(graph.next_place(path));
        graph.push_output(Output { name: name.into(), value, target });
    }
    for path in complex {
        lower.builder.graph.add_constant_output(AttrValue::str(COMPLEX), path);
    }
    for (i, &value) in lower.effects.iter().enumerate() {
        lower.builder.graph.add_output(&format!("effect{i}"), value);
    }
    Ok(())
}

/// `result[0]['logits']` as a path; `None` where it is none.
fn returned_path(info: &str) -> Option<ir::Path> {
    let mut rest = info.strip_prefix("result").unwrap_or(info);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, behind) = inner.split_once(']')?;
            steps.push(match step.parse() {
                Ok(i) => Step::Index(i),
                Err(_) => Step::Name(Arc::from(step.trim_matches(['\'', '"']))),
            });
            rest = behind;
        } else {
            let inner = rest.strip_prefix('.')?;
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            steps.push(Step::Name(Arc::from(&inner[..end])));
            rest = &inner[end..];
        }
    }
    Some(ir::Path(steps))
}

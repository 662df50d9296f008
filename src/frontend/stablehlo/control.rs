//! Calls, loops and branches.

use super::ast::Use;
use super::attribute::Attribute;
use super::error::Error;
use super::form::{Form, called};
use super::lower::Lower;
use super::scope::{Scope, ScopeValue};
use crate::frontend::builder::Refusal;
use crate::ir::{AttrValue, DType, NodeKind, Number, Origin, Value};

/// The most rounds of a loop that is dissolved.
const MOST_ROUNDS: usize = 4096;

/// The most operations that all rounds of a loop may run through.
const MOST_STEPS: usize = 1 << 18;

impl<'t, 's> Lower<'_, 't, 's> {
    /// Lowers an operation that runs regions or functions; `None` if it is another, or has to stay opaque.
    pub(super) fn control(
        &mut self,
        scope: &Scope<'_, 's>,
        form: &Form<'t, 's>,
        operands: &[ScopeValue],
        names: &str,
    ) -> Result<Option<Vec<ScopeValue>>, Error> {
        match form.name {
            "call" | "func.call" => return call(self, form, form.words.first().copied(), operands, names),
            _ => {}
        }
        match form.stable_name() {
            Some("call") => call(self, form, form.words.first().copied(), operands, names),
            Some("composite") => {
                let function = form.attribute(&["decomposition"]).and_then(Attribute::symbol);
                call(self, form, function, operands, names)
            }
            Some("custom_call") => Ok(marker(form).then(|| operands.to_vec())),
            Some("while") => repeat(self, scope, form, operands, names),
            Some("if" | "case") => branch(self, scope, form, operands, names),
            Some("map") => map(self, scope, form, operands, names),
            Some("optimization_barrier") => Ok(Some(operands.to_vec())),
            _ => Ok(None),
        }
    }
}

/// Whether a custom call says where a tensor lies and computes nothing.
fn marker(form: &Form) -> bool {
    let known = called(form).is_some_and(|name| matches!(name, "Sharding" | "annotate_device_placement"));
    known && form.result_count() == 1 && form.operands.len() == 1
}

/// What the node names inside of an operation start with.
fn inside(form: &Form, names: &str) -> String {
    let own = form.results.first().map_or(form.name, |(name, _)| name);
    format!("{names}{own}/")
}

fn call<'t, 's>(
    low: &mut Lower<'_, 't, 's>,
    form: &Form<'t, 's>,
    function: Option<&str>,
    operands: &[ScopeValue],
    names: &str,
) -> Result<Option<Vec<ScopeValue>>, Error> {
    let module = low.module;
    // What is only declared stays opaque.
    let Some(function) = function.and_then(|name| module.get(name)) else { return Ok(None) };
    low.call(function, operands, &inside(form, names), form.at).map(Some)
}

/// `while`: round after round, as long as the condition is known.
fn repeat<'t, 's>(
    low: &mut Lower<'_, 't, 's>,
    scope: &Scope<'_, 's>,
    form: &Form<'t, 's>,
    operands: &[ScopeValue],
    names: &str,
) -> Result<Option<Vec<ScopeValue>>, Error> {
    let &[condition, body] = &form.regions[..] else {
        return Err(Error::new(form.at, "`while` has no condition and body"));
    };
    let mut state = operands.to_vec();
    let arguments = [low.block_arguments(form, condition)?, low.block_arguments(form, body)?];
    if arguments.iter().any(|a| a.len() != state.len()) {
        return Err(Error::new(form.at, "`while` has regions with another number of arguments"));
    }
    let before = low.state();
    let first = low.steps;
    for round in 0..=MOST_ROUNDS {
        if low.steps - first > MOST_STEPS {
            break;
        }
        let names = format!("{}{round}/", inside(form, names));
        let mut inner = Scope::inside(scope);
        bind(&mut inner, &arguments[0], &state);
        let goes_on = low.region(&mut inner, condition, &names)?;
        let Some(goes_on) = goes_on.first().and_then(|b| low.known(b)) else { break };
        if !goes_on.is_true() {
            return Ok(Some(state));
        }
        let mut inner = Scope::inside(scope);
        bind(&mut inner, &arguments[1], &state);
        state = low.region(&mut inner, body, &names)?;
        if state.len() != operands.len() {
            return Err(Error::new(form.at, "`while` has a body that gives another number of values"));
        }
    }
    low.restore(before);
    Ok(None)
}

fn bind<'s>(scope: &mut Scope<'_, 's>, arguments: &[&'s str], values: &[ScopeValue]) {
    for (&name, value) in arguments.iter().zip(values) {
        scope.bind(Use { name, index: 0 }, value.clone());
    }
}

/// `if` and `case`: the branch that is taken if that is known, else all of them and a choice among what they give.
fn branch<'m, 't, 's>(
    low: &mut Lower<'m, 't, 's>,
    scope: &Scope<'_, 's>,
    form: &Form<'t, 's>,
    operands: &[ScopeValue],
    names: &str,
) -> Result<Option<Vec<ScopeValue>>, Error> {
    let Some(ScopeValue::Tensor(index)) = operands.first() else { return Ok(None) };
    let Some(last) = form.regions.len().checked_sub(1) else {
        return Err(Error::new(form.at, format!("`{}` has no branches", form.name)));
    };
    let is_if = form.is("if");
    if is_if && last != 1 {
        return Err(Error::new(form.at, "`if` needs two branches"));
    }
    let names = inside(form, names);
    let run = |low: &mut Lower<'m, 't, 's>, i: usize| -> Result<Vec<ScopeValue>, Error> {
        let mut inner = Scope::inside(scope);
        low.region(&mut inner, form.regions[i], &format!("{names}{i}/"))
    };
    if let Some(known) = low.tables.uniform.get(index) {
        let taken = match (is_if, known.to_i64()) {
            (true, _) => usize::from(!known.is_true()),
            // What is out of range takes the last branch.
            (false, Some(i)) => usize::try_from(i).ok().filter(|&i| i <= last).unwrap_or(last),
            (false, None) => last,
        };
        return run(low, taken).map(Some);
    }
    let effects = low.effects.len();
    let before = low.state();
    let mut chosen = run(low, last)?;
    for i in (0..last).rev() {
        let mut others = run(low, i)?;
        let taken = match truth(low, *index, last).filter(|_| !is_if) {
            // Branch 1 is that of what holds.
            Some(holds) => {
                std::mem::swap(&mut others, &mut chosen);
                Ok(holds)
            }
            None if is_if => Ok(*index),
            None => equals(low, *index, i as i64),
        };
        let taken = taken.map_err(|refusal| low.refused(form, refusal))?;
        if others.len() != chosen.len() {
            return Err(Error::new(form.at, format!("`{}` has branches that give other numbers of values", form.name)));
        }
        for (slot, other) in others.into_iter().enumerate() {
            chosen[slot] = match (other, chosen[slot].clone()) {
                (ScopeValue::Tensor(this), ScopeValue::Tensor(rest)) => {
                    ScopeValue::Tensor(either(low, form, [taken, this, rest])?)
                }
                (ScopeValue::Complex(this), ScopeValue::Complex(rest)) => {
                    let mut part = |i: usize| either(low, form, [taken, this[i], rest[i]]);
                    ScopeValue::Complex([part(0)?, part(1)?])
                }
                _ => {
                    low.restore(before);
                    return Ok(None);
                }
            };
        }
    }
    // What a branch does beside giving values depends on whether it is taken.
    if low.effects.len() > effects {
        low.restore(before);
        return Ok(None);
    }
    Ok(Some(chosen))
}

/// One of two values, by a scalar.
fn either<'t, 's>(low: &mut Lower<'_, 't, 's>, form: &Form<'t, 's>, operands: [Value; 3]) -> Result<Value, Error> {
    let name = low.name(form, "");
    let origin = low.locations.origin(form.location);
    let mut node = low.builder.lower(&name, origin);
    let both = node.emit("where", &[], &operands).map_err(|refusal| low.refused(form, refusal))?;
    both.and_then(|all| all.first().copied()).ok_or_else(|| Error::new(form.at, "a choice has no counterpart"))
}

/// The condition that the index of a `case` of two branches was made of: `cond` of JAX is such a `case`.
fn truth(low: &Lower, index: Value, last: usize) -> Option<Value> {
    let graph = &low.builder.graph;
    let NodeKind::Op { op, .. } = &graph.node(index.node).kind else { return None };
    let &[source] = &graph.operands(index.node)[..] else { return None };
    (op.name() == "cast" && graph.ty(source).dtype == DType::Bool && last == 1).then_some(source)
}

/// Whether the scalar `index` is `i`.
fn equals(low: &mut Lower, index: Value, i: i64) -> Result<Value, Refusal> {
    let dtype = low.builder.graph.ty(index).dtype;
    let mut node = low.builder.lower("branch", Origin::implicit());
    let number = node.number("number", Number::Int(i), dtype)?;
    node.implicit("eq", "eq", &[], &[index, number])
}

/// `map`: operations on scalars, applied to whole tensors.
fn map<'t, 's>(
    low: &mut Lower<'_, 't, 's>,
    scope: &Scope<'_, 's>,
    form: &Form<'t, 's>,
    operands: &[ScopeValue],
    names: &str,
) -> Result<Option<Vec<ScopeValue>>, Error> {
    let &[region] = &form.regions[..] else { return Err(Error::new(form.at, "`map` needs one region")) };
    let arguments = low.block_arguments(form, region)?;
    if arguments.len() != operands.len() {
        return Err(Error::new(form.at, "`map` has a region with another number of arguments"));
    }
    // Operations that do not work element by element mean something else on scalars.
    const SHAPED: [&str; 6] = ["reduce", "broadcast_in_dim", "reshape", "iota", "while", "dot_general"];
    if region.operations.iter().any(|o| Form::of(o).stable_name().is_none_or(|n| SHAPED.contains(&n))) {
        return Ok(None);
    }
    let mut inner = Scope::inside(scope);
    bind(&mut inner, &arguments, operands);
    let outer = std::mem::replace(&mut low.mapped, true);
    let given = low.region(&mut inner, region, &inside(form, names));
    low.mapped = outer;
    let given = given?;
    let stated: Vec<_> = form.types.iter().map(|t| low.ty(t).tensor().cloned()).collect();
    let mut values = Vec::new();
    for (bound, stated) in given.into_iter().zip(stated.into_iter().rev().take(form.result_count()).rev()) {
        let (ScopeValue::Tensor(value), Some(stated)) = (bound, stated) else { return Ok(None) };
        let mut node = low.builder.lower("map", Origin::implicit());
        let shape = [("shape", AttrValue::shape(&stated.shape))];
        let value = match *node.graph.ty(value) == stated {
            true => value,
            false => node.implicit("expand", "expand", &shape, &[value]).map_err(|r| low.refused(form, r))?,
        };
        values.push(ScopeValue::Tensor(value));
    }
    Ok(Some(values))
}

//! Walks the operations of a module in order and builds the graph. Calls are dissolved into the functions they call, loops of
//! a known number of rounds into their rounds.

use std::path::Path;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ast::{Region, Tree, Use};
use super::attribute::type_text;
use super::convert::{self, complex::Parts};
use super::error::Error;
use super::form::{Form, arguments, called};
use super::literal::{self, Elements, Resources};
use super::location::Locations;
use super::lowering::{NodeLowering, Tables};
use super::module::{Function, Module};
use super::scope::{Foreign, Scope, ScopeValue};
use super::types::{self, Type};
use crate::frontend::builder::{Builder, Refusal};
use crate::ir::{AttrValue, DType, Number, Origin, TensorType, Value};

/// How deep functions may call each other, and regions stand inside of regions.
const DEEPEST_CALLS: usize = 64;

/// The most operations that are run through, those of called functions again at every call: functions that call each other
/// twice double them at every level.
const MOST_OPERATIONS: usize = 2 << 20;

/// A module under construction.
pub(super) struct Lower<'m, 't, 's> {
    pub module: &'m Module<'t, 's>,
    pub builder: Builder,
    pub tables: Tables,
    pub locations: Locations<'t, 's>,
    pub resources: Resources<'s>,
    types: FxHashMap<&'t str, Type<'t>>,
    /// Type aliases: `!t = tensor<2xf32>`.
    pub type_aliases: FxHashMap<&'s str, &'t str>,
    /// What the module does beside giving values, in its order.
    pub effects: Vec<Value>,
    /// Comparisons that a test makes.
    pub checks: Vec<Check>,
    /// How many more there are, of values that the IR lacks.
    pub foreign_checks: usize,
    /// How many operations draw.
    pub draws: i64,
    depth: usize,
    /// How many operations were run through.
    pub steps: usize,
    /// Whether the operations are those of the region of `map`.
    pub mapped: bool,
}

/// A comparison that a test of StableHLO makes.
#[derive(Clone, Debug)]
pub struct Check {
    /// Such as `expect_eq`.
    pub kind: String,
    /// What the module computes.
    pub found: Value,
    /// What it should be.
    pub wanted: Value,
    /// Attributes by name.
    pub attributes: Vec<(String, f64)>,
}

impl<'m, 't, 's> Lower<'m, 't, 's> {
    pub(super) fn new(
        path: &'m Path,
        module: &'m Module<'t, 's>,
        locations: Locations<'t, 's>,
        resources: Resources<'s>,
        type_aliases: FxHashMap<&'s str, &'t str>,
    ) -> Self {
        Lower {
            module,
            builder: Builder::new(path),
            tables: Tables::default(),
            locations,
            resources,
            types: FxHashMap::default(),
            type_aliases,
            effects: Vec::new(),
            checks: Vec::new(),
            foreign_checks: 0,
            draws: 0,
            depth: 0,
            steps: 0,
            mapped: false,
        }
    }

    /// The type that a tree names.
    pub(super) fn ty(&mut self, tree: &'t Tree<'s>) -> Type<'t> {
        let text = match tree {
            Tree::Angled(text) | Tree::Word(text) => *text,
            Tree::Alias(name) => self.type_aliases.get(name).copied().unwrap_or(name),
            _ => "",
        };
        self.types.entry(text).or_insert_with(|| types::read(text)).clone()
    }

    /// Lowers the operations of a region, and gives what its last one returns. `names` is what names of nodes start with.
    pub(super) fn region(
        &mut self,
        scope: &mut Scope<'_, 's>,
        region: &'t Region<'s>,
        names: &str,
    ) -> Result<Vec<ScopeValue>, Error> {
        if self.depth >= DEEPEST_CALLS {
            let at = region.operations.first().map_or(0, |o| o.at);
            return Err(Error::new(at, format!("calls and regions are nested more than {DEEPEST_CALLS} deep")));
        }
        self.depth += 1;
        let given = self.operations(scope, region, names);
        self.depth -= 1;
        given
    }

    fn operations(
        &mut self,
        scope: &mut Scope<'_, 's>,
        region: &'t Region<'s>,
        names: &str,
    ) -> Result<Vec<ScopeValue>, Error> {
        for operation in &region.operations {
            let form = Form::of(operation);
            self.steps += 1;
            if self.steps > MOST_OPERATIONS {
                return Err(Error::new(form.at, format!("the program runs more than {MOST_OPERATIONS} operations")));
            }
            let operands = self.operands(scope, &form)?;
            if matches!(form.name, "return" | "func.return" | "stablehlo.return" | "mhlo.return" | "chlo.return") {
                return Ok(operands);
            }
            let results = self.operation(scope, &form, &operands, names)?;
            if results.len() != form.result_count() && !form.results.is_empty() {
                let reason =
                    format!("`{}` gives {} results, {} are named", form.name, results.len(), form.result_count());
                return Err(Error::new(form.at, reason));
            }
            let mut results = results.into_iter();
            for &(name, count) in form.results {
                for (index, bound) in results.by_ref().take(count).enumerate() {
                    if !scope.bind(Use { name, index }, bound) {
                        return Err(Error::new(form.at, format!("`{name}` is defined twice")));
                    }
                }
            }
        }
        Ok(Vec::new())
    }

    fn operands(&self, scope: &Scope<'_, 's>, form: &Form<'t, 's>) -> Result<Vec<ScopeValue>, Error> {
        let operand = |&name: &Use<'s>| {
            scope.get(name).cloned().ok_or_else(|| {
                let index = if name.index > 0 { format!("#{}", name.index) } else { String::new() };
                Error::new(
                    form.at,
                    format!("`{}` uses `{}{index}`, which nothing defines before it", form.name, name.name),
                )
            })
        };
        form.operands.iter().map(operand).collect()
    }

    /// What reports call the node of an operation.
    pub(super) fn name(&mut self, form: &Form, names: &str) -> String {
        let own = form.results.first().map_or(form.name, |(name, _)| name);
        self.builder.names.fresh(&format!("{names}{own}"))
    }

    fn operation(
        &mut self,
        scope: &Scope<'_, 's>,
        form: &Form<'t, 's>,
        operands: &[ScopeValue],
        names: &str,
    ) -> Result<Vec<ScopeValue>, Error> {
        if form.name.starts_with("check.") || is_check(form) {
            return self.check(form, operands);
        }
        if matches!(form.name, "stablehlo.constant" | "mhlo.constant" | "chlo.constant" | "arith.constant") {
            return self.constant(form, names);
        }
        if let Some(results) = self.control(scope, form, operands, names)? {
            return Ok(results);
        }
        let types: Vec<Type<'t>> = form.types.iter().map(|t| self.ty(t)).collect();
        let given: Option<Vec<Parts>> = operands
            .iter()
            .map(|b| match b {
                ScopeValue::Tensor(value) => Some(Parts::Real(*value)),
                ScopeValue::Complex(parts) => Some(Parts::Complex(*parts)),
                ScopeValue::Foreign(_) => None,
            })
            .collect();
        // What is printed with one type has the type of its result.
        let count = form.result_count();
        let stated: Option<Vec<(TensorType, bool)>> = types
            .iter()
            .rev()
            .take(count)
            .rev()
            .map(|t| match t {
                Type::Tensor(ty) => Some((ty.clone(), false)),
                Type::Complex(part) => Some((part.clone(), true)),
                Type::Foreign(_) => None,
            })
            .collect();
        let name = self.name(form, names);
        let (Some(given), Some(stated)) = (given, stated) else {
            return self.opaque(scope, form, operands, &name);
        };
        let (stated, complex): (Vec<TensorType>, Vec<bool>) = stated.into_iter().unzip();
        if stated.len() != count {
            return Err(Error::new(
                form.at,
                format!("`{}` states {} types for {count} results", form.name, stated.len()),
            ));
        }
        let origin = self.locations.origin(form.location);
        let real = |parts: &Parts| if let Parts::Real(value) = parts { Some(*value) } else { None };
        let tensors: Option<Vec<Value>> = given.iter().map(real).collect();
        // What takes complex numbers apart may stand on real ones.
        let parts = matches!(form.stable_name(), Some("complex" | "real" | "imag"));
        let is_real = tensors.is_some() && !complex.contains(&true) && !parts;
        let tensors = tensors.unwrap_or_default();
        let mut site = NodeLowering {
            low: self.builder.lower(&name, origin),
            tables: &mut self.tables,
            form,
            operands: &tensors,
            results: &stated,
        };
        let converted = match is_real {
            true => convert::convert(&mut site).map(|all| all.map(|v| v.into_iter().map(Parts::Real).collect())),
            false => convert::complex::convert(&mut site, &given, &complex),
        };
        let values: Option<Vec<Parts>> = converted.map_err(|refusal| self.refused(form, refusal))?;
        let Some(values) = values else { return self.opaque(scope, form, operands, &name) };
        if values.len() != count {
            return Err(Error::new(
                form.at,
                format!("`{}` gives {} results, {count} are named", form.name, values.len()),
            ));
        }
        if !self.mapped {
            for ((parts, stated), &complex) in values.iter().zip(&stated).zip(&complex) {
                let (parts, given_complex) = match parts {
                    Parts::Real(value) => (std::slice::from_ref(value), false),
                    Parts::Complex(parts) => (&parts[..], true),
                };
                for &value in parts {
                    let found = self.builder.graph.ty(value);
                    if found != stated || complex != given_complex {
                        let of = |complex| if complex { "complex numbers with parts " } else { "" };
                        let (found, stated) =
                            (format!("{}{found}", of(given_complex)), format!("{}{stated}", of(complex)));
                        let reason = format!("`{}` gives {found}, and the module states {stated}", form.name);
                        return Err(Error::new(form.at, reason));
                    }
                }
            }
        }
        Ok(values.into_iter().map(ScopeValue::from).collect())
    }

    pub(super) fn refused(&self, form: &Form, refusal: Refusal) -> Error {
        Error { at: form.at, reason: format!("`{}` {}", form.name, refusal.reason), help: refusal.help }
    }

    fn constant(&mut self, form: &Form<'t, 's>, names: &str) -> Result<Vec<ScopeValue>, Error> {
        let literal = form.bare.first().copied().or_else(|| form.attribute(&["value"]).and_then(|a| a.trees().first()));
        let Some(Tree::Angled(text)) = literal else {
            return Err(Error::new(form.at, "a constant is no literal of numbers"));
        };
        let Some(&ty) = form.types.first() else { return Err(Error::new(form.at, "a constant states no type")) };
        let foreign = |ty: String| {
            let what = Foreign { text: format!("{text} : {ty}"), leaves: Vec::new() };
            Ok(vec![ScopeValue::Foreign(Rc::new(what))])
        };
        match self.ty(ty) {
            Type::Foreign(_) => foreign(type_text(ty)),
            Type::Complex(part) => {
                let parts = literal::read_complex(text, &part, &self.resources);
                let [re, im] = parts.map_err(|reason| Error::new(form.at, reason))?;
                let parts = [self.elements(form, names, part.clone(), re)?, self.elements(form, names, part, im)?];
                Ok(vec![ScopeValue::Complex(parts)])
            }
            Type::Tensor(ty) => match literal::read(text, &ty, &self.resources) {
                // The upper half of the numbers of 64 bits without a sign has no numbers here.
                Err(_) if ty.dtype == DType::U64 => foreign(ty.to_string()),
                other => {
                    let elements = other.map_err(|reason| Error::new(form.at, reason))?;
                    Ok(vec![ScopeValue::Tensor(self.elements(form, names, ty, elements)?)])
                }
            },
        }
    }

    /// The elements of a constant as a value.
    fn elements(
        &mut self,
        form: &Form<'t, 's>,
        names: &str,
        ty: TensorType,
        elements: Elements,
    ) -> Result<Value, Error> {
        let name = self.name(form, names);
        let refused = |refusal| Error::refused(form.at, refusal);
        match elements {
            Elements::Splat(number) => {
                let mut low = self.builder.lower(&name, Origin::implicit());
                let typed = literal::as_typed(number, ty.dtype);
                let (dtype, value) = (("dtype", AttrValue::DType(ty.dtype)), ("value", AttrValue::from(typed)));
                let value = match ty.rank() {
                    0 => low.emit("number", &[value, dtype], &[]),
                    _ => low.emit("full", &[("shape", AttrValue::shape(&ty.shape)), value, dtype], &[]),
                };
                let value = value.map_err(refused)?.and_then(|all| all.first().copied());
                let value = value.ok_or_else(|| Error::new(form.at, "a constant has no counterpart"))?;
                self.tables.uniform.insert(value, number);
                if ty.rank() > 0 {
                    let mut low = self.builder.lower(&name, Origin::implicit());
                    let scalar = low.number("number", typed, ty.dtype).map_err(refused)?;
                    self.tables.repeats.insert(value, scalar);
                }
                Ok(value)
            }
            Elements::Dense(all) => {
                let uniform = all.first().copied().filter(|first| all.iter().all(|v| v == first));
                let added = self.builder.graph.add_literal(&name, ty, all, Origin::default());
                let value = Value::from(added.map_err(|e| Error::new(form.at, e.to_string()))?);
                if let Some(number) = uniform {
                    self.tables.uniform.insert(value, number);
                }
                Ok(value)
            }
        }
    }

    /// A comparison of a test: `check.expect_eq`, or a custom call of that name.
    fn check(&mut self, form: &Form<'t, 's>, operands: &[ScopeValue]) -> Result<Vec<ScopeValue>, Error> {
        let kind = form.name.strip_prefix("check.").or_else(|| called(form)).unwrap_or("");
        let kind = kind.strip_prefix("check.").unwrap_or(kind);
        let mut both = operands.to_vec();
        if let (Some(Tree::Angled(_)), [_]) = (form.bare.first(), &both[..]) {
            // The wanted elements stand in the operation; their type is that of what is tested.
            let constant = Form { name: "stablehlo.constant", ..form.clone() };
            both.extend(self.constant(&constant, "wanted ")?);
        }
        let tensors = match &both[..] {
            [found, wanted] => found.tensors().zip(wanted.tensors()),
            _ => None,
        };
        // A value that the IR lacks cannot be compared.
        let Some((found, wanted)) = tensors else {
            self.foreign_checks += 1;
            return Ok(Vec::new());
        };
        let attributes: Vec<(String, f64)> =
            form.attributes().filter_map(|(key, value)| Some((key.to_owned(), value.float()?))).collect();
        for (&found, &wanted) in found.iter().zip(wanted) {
            self.checks.push(Check { kind: kind.to_owned(), found, wanted, attributes: attributes.clone() });
        }
        Ok(Vec::new())
    }

    /// Calls a function with the values of its arguments.
    pub(super) fn call(
        &mut self,
        function: &'m Function<'t, 's>,
        operands: &[ScopeValue],
        names: &str,
        at: usize,
    ) -> Result<Vec<ScopeValue>, Error> {
        if function.arguments.len() != operands.len() {
            let reason = format!(
                "`{}` takes {} arguments, {} are given",
                function.name,
                function.arguments.len(),
                operands.len()
            );
            return Err(Error::new(at, reason));
        }
        let mut scope = Scope::default();
        for (argument, operand) in function.arguments.iter().zip(operands) {
            if let (ScopeValue::Tensor(value), Type::Tensor(stated), false) =
                (operand, self.ty(argument.ty), self.mapped)
            {
                let given = self.builder.graph.ty(*value);
                if *given != stated {
                    return Err(Error::new(at, format!("`{}` takes {stated}, not {given}", function.name)));
                }
            }
            if !scope.bind(Use { name: argument.name, index: 0 }, operand.clone()) {
                return Err(Error::new(function.at, format!("`{}` is defined twice", argument.name)));
            }
        }
        self.region(&mut scope, function.body, names)
    }

    /// The parts of pairs that an argument is.
    pub(super) fn parts_of(&mut self, name: &str, pairs: Value) -> Result<[Value; 2], Refusal> {
        convert::complex::apart(&mut self.between(name, &Form::default()), pairs)
    }

    /// Complex numbers as pairs, which a result is.
    pub(super) fn pairs_of(&mut self, name: &str, parts: [Value; 2]) -> Result<Value, Refusal> {
        convert::complex::joined(&mut self.between(name, &Form::default()), parts)
    }

    /// What no operation stands for.
    fn between<'a>(&'a mut self, name: &'a str, form: &'a Form<'t, 's>) -> NodeLowering<'a, 't, 's> {
        let low = self.builder.lower(name, Origin::implicit());
        NodeLowering { low, tables: &mut self.tables, form, operands: &[], results: &[] }
    }

    /// The names of the arguments of a region's block.
    pub(super) fn block_arguments(&self, form: &Form<'t, 's>, region: &'t Region<'s>) -> Result<Vec<&'s str>, Error> {
        if region.arguments.is_empty() {
            return Ok(form.arguments.clone());
        }
        let found = arguments(&region.arguments);
        let found = found.ok_or_else(|| Error::new(form.at, "a block has arguments that make no sense"))?;
        Ok(found.iter().map(|a| a.name).collect())
    }

    /// What lowering changes beside the graph, to come back to. Nodes that nothing uses are left out in the end.
    pub(super) fn state(&self) -> [usize; 2] {
        [self.effects.len(), self.checks.len()]
    }

    pub(super) fn restore(&mut self, [effects, checks]: [usize; 2]) {
        self.effects.truncate(effects);
        self.checks.truncate(checks);
    }

    /// The number that a value is known to be.
    pub(super) fn known(&self, bound: &ScopeValue) -> Option<Number> {
        match bound {
            ScopeValue::Tensor(value) => self.tables.uniform.get(value).copied(),
            ScopeValue::Complex(_) | ScopeValue::Foreign(_) => None,
        }
    }
}

fn is_check(form: &Form) -> bool {
    form.is("custom_call") && called(form).is_some_and(|name| name.starts_with("check."))
}

//! The functions of a module.

use rustc_hash::FxHashMap;

use super::ast::{File, Operation, Region, Tree};
use super::attribute::Attribute;
use super::error::Error;
use super::form::{Argument, arguments};

/// A function with its body.
pub(super) struct Function<'t, 's> {
    pub name: &'t str,
    pub arguments: Vec<Argument<'t, 's>>,
    /// The attributes of every result.
    pub results: Vec<Vec<(&'t str, Attribute<'t, 's>)>>,
    pub body: &'t Region<'s>,
    pub at: usize,
}

/// The functions of a file, in its order.
pub(super) struct Module<'t, 's> {
    pub functions: Vec<Function<'t, 's>>,
    by_name: FxHashMap<&'t str, usize>,
}

impl<'t, 's> Module<'t, 's> {
    /// # Errors
    /// Functions without a body or with more than one block, two of one name, and operations outside of functions.
    pub(super) fn of(file: &'t File<'s>) -> Result<Self, Error> {
        let mut module = Module { functions: Vec::new(), by_name: FxHashMap::default() };
        module.collect(&file.operations)?;
        Ok(module)
    }

    fn collect(&mut self, operations: &'t [Operation<'s>]) -> Result<(), Error> {
        for operation in operations {
            match &*operation.name {
                "module" | "builtin.module" => {
                    for tree in &operation.trees {
                        match tree {
                            Tree::Region(region) => self.collect(&region.operations)?,
                            // `"builtin.module"() ({ … })`
                            Tree::Group(inner) => {
                                for tree in inner {
                                    if let Tree::Region(region) = tree {
                                        self.collect(&region.operations)?;
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                "func.func" | "func" => {
                    // A declaration: what is called is known by its name only.
                    let Some(function) = function(operation)? else { continue };
                    if self.by_name.insert(function.name, self.functions.len()).is_some() {
                        return Err(Error::new(operation.at, format!("there are two functions `{}`", function.name)));
                    }
                    self.functions.push(function);
                }
                // Meshes of devices and the like.
                name if !name.starts_with("stablehlo.") => {}
                name => return Err(Error::new(operation.at, format!("`{name}` stands outside of functions"))),
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Function<'t, 's>> {
        self.functions.get(*self.by_name.get(name)?)
    }
}

/// `func.func public @main(…) -> (…) {…}`, or its generic form, whose names are attributes.
fn function<'t, 's>(operation: &'t Operation<'s>) -> Result<Option<Function<'t, 's>>, Error> {
    let wrong = |reason: &str| Error::new(operation.at, format!("a function {reason}"));
    let trees = &operation.trees[..];
    let Some(start) = trees.iter().position(|t| matches!(t, Tree::Symbol(_))) else { return generic(operation) };
    let (Some(Tree::Symbol(name)), Some(Tree::Group(listed))) = (trees.get(start), trees.get(start + 1)) else {
        return Err(wrong("has no list of arguments"));
    };
    let Some(body) = trees.iter().find_map(|t| if let Tree::Region(r) = t { Some(r) } else { None }) else {
        return Ok(None);
    };
    if body.blocks > 1 {
        return Err(wrong("has several blocks, which jump to each other")
            .help("control flow has to be that of StableHLO: `while`, `if` and `case`"));
    }
    let arguments = arguments(listed).ok_or_else(|| wrong("has arguments that make no sense"))?;
    let mut results = Vec::new();
    let arrow = trees.iter().position(|t| t.is_sign("->"));
    if let Some(Tree::Group(inner)) = arrow.and_then(|i| trees.get(i + 1)) {
        for part in super::ast::parts(inner) {
            let entries =
                part.iter().filter_map(|t| if let Tree::Dictionary(entries) = t { Some(entries) } else { None });
            results.push(entries.flatten().map(|e| (&*e.key, Attribute::new(&e.value))).collect());
        }
    }
    Ok(Some(Function { name, arguments, results, body, at: operation.at }))
}

/// `"func.func"() <{function_type = …, sym_name = "main"}> ({ ^bb0(…): … })`
fn generic<'t, 's>(operation: &'t Operation<'s>) -> Result<Option<Function<'t, 's>>, Error> {
    let form = super::form::Form::of(operation);
    let name = form.attribute(&["sym_name"]).and_then(Attribute::text);
    let name = name.ok_or_else(|| Error::new(operation.at, "a function has no name"))?;
    let Some(&body) = form.regions.first() else { return Ok(None) };
    let arguments = arguments(&body.arguments);
    let arguments = arguments.ok_or_else(|| Error::new(operation.at, "a function has arguments that make no sense"))?;
    Ok(Some(Function { name, arguments, results: Vec::new(), body, at: operation.at }))
}

//! Where a variable is set: in its function, in the class, in the class of the object that it belongs to.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tree_sitter::Node;

use super::files::Sources;
use super::python::{Python, all, line_of};
use crate::report::{SourceText, Variable};

/// How many assignments are named, and how many classes are looked into.
const MOST: usize = 4;
const MOST_CLASSES: usize = 8;

/// How many variables are followed one after the other.
const MOST_FOLLOWED: usize = 16;

/// A place in a file: the function that reads a variable.
pub(super) struct Place<'p> {
    pub sources: &'p Sources,
    pub path: &'p Path,
    pub python: &'p Python,
    pub function: Node<'p>,
}

impl Place<'_> {
    /// A variable with where it is set.
    pub(super) fn variable(&self, name: &str) -> Variable {
        let mut set = Vec::new();
        self.follow(name, &mut set, &mut Vec::new());
        set.dedup();
        set.truncate(MOST);
        Variable { name: name.to_owned(), set }
    }

    /// `followed` holds what was followed before: `config = config.text_config` leads back to itself.
    fn follow(&self, name: &str, set: &mut Vec<SourceText>, followed: &mut Vec<String>) {
        if set.len() >= MOST || followed.len() >= MOST_FOLLOWED || followed.iter().any(|known| known == name) {
            return;
        }
        followed.push(name.to_owned());
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            ["self", attribute, ref rest @ ..] => self.follow_attribute(attribute, rest, set),
            [local, ref rest @ ..] => self.follow_local(local, rest, set, followed),
            [] => {}
        }
    }

    fn follow_local(&self, local: &str, rest: &[&str], set: &mut Vec<SourceText>, followed: &mut Vec<String>) {
        let assigned = self.python.assignments(self.function, local);
        set.extend(assigned.iter().map(|(statement, _)| text(self.path, self.python, *statement)));
        if let Some((_, value)) = assigned.last() {
            for read in self.python.variables(*value).iter().filter(|read| read.contains('.')) {
                self.follow(read, set, followed);
            }
        } else if let Some(ty) = self.python.parameter(self.function, local) {
            set.push(argument(self.path, self.python, self.function, local));
            self.follow_field(ty.as_deref(), rest, set);
        }
    }

    /// What `self` holds is set in the constructor as a rule, of this class or of one that it is made from.
    fn follow_attribute(&self, attribute: &str, rest: &[&str], set: &mut Vec<SourceText>) {
        let Some(class) = enclosing_class(self.function) else { return };
        let Some(name) = self.python.field(class, "name") else { return };
        let target = format!("self.{attribute}");
        for (path, python, class) in self.lineage(self.path, name) {
            let Some(class) = python.class(&class) else { continue };
            let assigned = python.assignments(class, &target);
            let Some(&(statement, value)) = assigned.first() else { continue };
            set.extend(assigned.iter().map(|(statement, _)| text(&path, &python, *statement)));
            let read = python.text(value);
            let function = python.function_at(line_of(statement));
            let ty = function.and_then(|f| python.parameter(f, read)).flatten();
            self.follow_field(ty.as_deref(), rest, set);
            return;
        }
    }

    /// A field of an object whose class is known by an annotation.
    fn follow_field(&self, ty: Option<&str>, rest: &[&str], set: &mut Vec<SourceText>) {
        let (Some(ty), [field]) = (ty, rest) else { return };
        let target = format!("self.{field}");
        for (path, python, class) in self.lineage(self.path, ty) {
            let Some(class) = python.class(&class) else { continue };
            let by_self = python.assignments(class, &target);
            let assigned = if by_self.is_empty() { python.assignments(class, field) } else { by_self };
            if !assigned.is_empty() {
                set.extend(assigned.iter().map(|(statement, _)| text(&path, &python, *statement)));
                return;
            }
        }
    }

    /// A class that a file defines or imports, and those that it is made from, each with its file.
    fn lineage(&self, path: &Path, class: &str) -> Vec<(PathBuf, Rc<Python>, String)> {
        let mut found: Vec<(PathBuf, Rc<Python>, String)> = Vec::new();
        let mut open = vec![(path.to_owned(), class.to_owned())];
        while let Some((path, class)) = open.pop() {
            let is_known = found.iter().any(|(p, _, c)| *p == path && *c == class);
            let Some(python) = self.sources.read(&path).filter(|_| !is_known && found.len() < MOST_CLASSES) else {
                continue;
            };
            if let Some(node) = python.class(&class) {
                open.extend(python.bases(node).into_iter().rev().map(|base| (path.clone(), base)));
                found.push((path, python, class));
            } else if let Some(module) = python.imported_from(&class) {
                open.extend(self.sources.module(&path, module).filter(|file| *file != path).map(|file| (file, class)));
            }
        }
        found
    }
}

/// The class that a method stands in.
pub(super) fn enclosing_class(function: Node) -> Option<Node> {
    std::iter::successors(function.parent(), Node::parent).find(|n| n.kind() == "class_definition")
}

/// A piece of a file.
pub(super) fn text(path: &Path, python: &Python, node: Node) -> SourceText {
    piece(path, python, node, python.one_line(node))
}

/// A piece of a file that is called `text`.
fn piece(path: &Path, python: &Python, node: Node, text: String) -> SourceText {
    let line = line_of(node);
    let whole = python.line(line).unwrap_or_default();
    let code = whole.trim();
    let indent = whole.len() - whole.trim_start().len();
    let (from, to) = (node.start_position(), node.end_position());
    // What goes on on the next line takes all of the rest of this one.
    let end = if from.row == to.row { to.column.saturating_sub(indent).min(code.len()) } else { code.len() };
    let columns = [from.column.saturating_sub(indent).min(end), end];
    SourceText { file: path.display().to_string(), line, text, code: code.to_owned(), columns }
}

fn argument(path: &Path, python: &Python, function: Node, name: &str) -> SourceText {
    let parameters = function.child_by_field_name("parameters").map(all).unwrap_or_default();
    let at = parameters.into_iter().find(|n| python.text(*n) == name).unwrap_or(function);
    let of = python.field(function, "name").unwrap_or_default();
    piece(path, python, at, format!("argument `{name}` of {of}"))
}

//! The switch on which two call paths part.
//!
//! Where both paths go through one line and part below it, or are recorded no further, the line calls something that was looked
//! up: the callee is followed to where it was chosen by a key. Where they go through two lines of one function, a condition
//! keeps these apart. A line that says neither, or several things, names no switch: a wrong cause is worse than none.

use tree_sitter::Node;

use super::files::Sources;
use super::follow::{Place, enclosing_class, text};
use super::python::{Python, all, children, holds, line_of};
use crate::report::{Call, CallPaths, Switch, SwitchKind};

impl Sources {
    /// What decides on which way two paths go; none where the source is not at hand or does not say.
    pub fn switch(&self, paths: &CallPaths) -> Option<Switch> {
        if !paths.is_clear {
            return None;
        }
        if let (Some(a), Some(b)) = (paths.a.first(), paths.b.first())
            && (&a.file, &a.function) == (&b.file, &b.function)
        {
            return self.between(a, b);
        }
        self.below(paths.common.last()?)
    }

    /// The condition between two lines of one function.
    fn between(&self, a: &Call, b: &Call) -> Option<Switch> {
        let path = self.find(&a.file)?;
        let python = self.read(&path)?;
        let [line_a, line_b] = [a, b].map(|call| python.recorded_line(call.line, &call.function, &call.code));
        let (line_a, line_b) = (line_a?, line_b?);
        let function = python.function_at(line_a).filter(|f| holds(*f, line_b))?;
        let condition = parting_condition(function, line_a, line_b)?;
        let place = Place { sources: self, path: &path, python: &python, function };
        let note = moved(a, line_a).or_else(|| moved(b, line_b));
        Some(switch(&place, SwitchKind::Branch, condition, condition, note))
    }

    /// The choice of what a line calls.
    fn below(&self, call: &Call) -> Option<Switch> {
        let path = self.find(&call.file)?;
        let python = self.read(&path)?;
        let line = python.recorded_line(call.line, &call.function, &call.code)?;
        let function = python.function_at(line)?;
        let callees = all(function).into_iter().filter(|n| n.kind() == "call" && line_of(*n) == line);
        let choices: Vec<Choice> =
            callees.filter_map(|call| choice_of(&python, function, call.child_by_field_name("function")?)).collect();
        let [choice] = choices[..] else { return None };
        let place = Place { sources: self, path: &path, python: &python, function: choice.function };
        Some(switch(&place, choice.kind, choice.expression, choice.key, moved(call, line)))
    }
}

/// A callee's choice.
#[derive(Clone, Copy)]
struct Choice<'t> {
    kind: SwitchKind,
    expression: Node<'t>,
    /// What it reads.
    key: Node<'t>,
    /// The function that it stands in.
    function: Node<'t>,
}

fn switch(place: &Place, kind: SwitchKind, expression: Node, key: Node, note: Option<String>) -> Switch {
    let variables = place.python.variables(key).iter().map(|name| place.variable(name)).collect();
    Switch { kind, expression: text(place.path, place.python, expression), variables, note }
}

fn moved(call: &Call, line: u32) -> Option<String> {
    (call.line != line).then(|| {
        format!("the file has the recorded line {} of {} at {line}: it may be of another version", call.line, call.file)
    })
}

/// How a callee was chosen: by itself, where its name is assigned, or where the constructor sets it.
fn choice_of<'t>(python: &'t Python, function: Node<'t>, callee: Node<'t>) -> Option<Choice<'t>> {
    if let Some(choice) = chosen(python, callee, function) {
        return Some(choice);
    }
    let name = python.text(callee);
    let inside = match callee.kind() {
        "identifier" => function,
        "attribute" if name.strip_prefix("self.").is_some_and(|rest| !rest.contains('.')) => enclosing_class(function)?,
        _ => return None,
    };
    let assigned = python.assignments(inside, name);
    let choices: Vec<Choice> = assigned
        .iter()
        .filter_map(|(statement, value)| {
            chosen(python, *value, python.function_at(line_of(*statement)).unwrap_or(function))
        })
        .collect();
    match choices[..] {
        [choice] => Some(choice),
        // Assigned in several arms of a branch, plainly in each.
        [] if assigned.len() > 1 => {
            let (first, last) = (assigned.first()?.0, assigned.last()?.0);
            let function = python.function_at(line_of(first)).filter(|f| holds(*f, line_of(last)))?;
            let condition = parting_condition(function, line_of(first), line_of(last))?;
            Some(Choice { kind: SwitchKind::Branch, expression: condition, key: condition, function })
        }
        _ => None,
    }
}

/// What an expression calls, as long as that is the result of a call or of a look-up itself: of an instance of a class that was looked
/// up, the look-up.
fn looked_up(expression: Node) -> Node {
    let mut node = expression;
    while node.kind() == "call"
        && let Some(callee) = node.child_by_field_name("function")
        && matches!(callee.kind(), "subscript" | "call")
    {
        node = callee;
    }
    node
}

/// Whether an expression chooses among functions or classes by a key.
fn chosen<'t>(python: &Python, expression: Node<'t>, function: Node<'t>) -> Option<Choice<'t>> {
    let expression = looked_up(expression);
    let key = match expression.kind() {
        "subscript" => expression.child_by_field_name("subscript").filter(|key| !is_literal(*key)),
        "conditional_expression" => {
            let condition = children(expression).get(1).copied()?;
            return Some(Choice { kind: SwitchKind::Branch, expression, key: condition, function });
        }
        "call" => {
            let callee = expression.child_by_field_name("function")?;
            let arguments = expression.child_by_field_name("arguments").map(children).unwrap_or_default();
            let looks_up = |name: Option<Node>| name.is_some_and(|n| is_lookup(python.text(n)));
            match callee.kind() {
                "attribute" if looks_up(callee.child_by_field_name("attribute")) => arguments.first().copied(),
                "identifier" if looks_up(Some(callee)) => {
                    arguments.iter().copied().rfind(|argument| !is_literal(*argument))
                }
                _ => None,
            }
            .filter(|key| !is_literal(*key))
        }
        _ => None,
    }?;
    Some(Choice { kind: SwitchKind::Dispatch, expression, key, function })
}

/// Whether a function's name says that it looks something up: `get`, `get_activation`, `getattr`.
fn is_lookup(name: &str) -> bool {
    name == "get" || name == "getattr" || name.starts_with("get_")
}

fn is_literal(node: Node) -> bool {
    matches!(node.kind(), "integer" | "float" | "string" | "true" | "false" | "none" | "slice" | "unary_operator")
}

/// The condition of the outermost `if` that has the two lines in different arms, or one of them in none.
fn parting_condition(function: Node, a: u32, b: u32) -> Option<Node> {
    let ifs = all(function).into_iter().filter(|n| n.kind() == "if_statement");
    ifs.into_iter().find(|n| arm(*n, a) != arm(*n, b)).and_then(|n| {
        // Of `elif`s, the first condition that tells them apart.
        let clauses = children(n).into_iter().filter(|c| c.kind() == "elif_clause");
        let at = |line: u32| arm(n, line).unwrap_or(usize::MAX);
        let first = at(a).min(at(b));
        let conditions = std::iter::once(n).chain(clauses).filter_map(|c| c.child_by_field_name("condition"));
        let conditions: Vec<Node> = conditions.collect();
        conditions.get(first).or(conditions.last()).copied()
    })
}

/// Which arm of an `if` a line stands in.
fn arm(statement: Node, line: u32) -> Option<usize> {
    let is_arm = |n: &Node| matches!(n.kind(), "block" | "elif_clause" | "else_clause");
    children(statement).into_iter().filter(is_arm).position(|arm| holds(arm, line))
}

//! A Python file as a syntax tree, with the questions that finding a switch asks of it.

use tree_sitter::{Node, Parser, Tree};

/// A parsed file.
pub(super) struct Python {
    text: String,
    tree: Tree,
}

impl Python {
    /// None where the parser gives up.
    pub(super) fn parse(text: String) -> Option<Python> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
        let tree = parser.parse(&text, None)?;
        Some(Python { text, tree })
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(super) fn text(&self, node: Node) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The text of a node on one line.
    pub(super) fn one_line(&self, node: Node) -> String {
        let words = self.text(node).split_whitespace().collect::<Vec<_>>().join(" ");
        // What brackets held apart on lines of its own.
        words.replace("( ", "(").replace(" )", ")").replace("[ ", "[").replace(" ]", "]")
    }

    /// The text of a line, from 1.
    pub(super) fn line(&self, number: u32) -> Option<&str> {
        self.text.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The line of a recorded call: its own number where the text is the recorded one, else the only line of the function that has
    /// this text.
    pub(super) fn recorded_line(&self, line: u32, function: &str, code: &str) -> Option<u32> {
        let is_it = |number: u32| self.line(number).is_some_and(|text| code.is_empty() || text.trim() == code.trim());
        if is_it(line) {
            return Some(line);
        }
        let functions = all(self.root()).into_iter().filter(|n| self.is_function(*n, function));
        let lines = functions.flat_map(|f| line_of(f)..=last_line_of(f));
        let mut found: Vec<u32> = lines.filter(|&number| is_it(number)).collect();
        found.dedup();
        if let [only] = found[..] { Some(only) } else { None }
    }

    fn is_function(&self, node: Node, name: &str) -> bool {
        node.kind() == "function_definition" && self.field(node, "name") == Some(name)
    }

    /// The text of a field of a node.
    pub(super) fn field(&self, node: Node, name: &str) -> Option<&str> {
        node.child_by_field_name(name).map(|child| self.text(child))
    }

    /// The innermost function that a line stands in.
    pub(super) fn function_at(&self, line: u32) -> Option<Node<'_>> {
        all(self.root()).into_iter().rfind(|n| n.kind() == "function_definition" && holds(*n, line))
    }

    /// The classes of that name.
    pub(super) fn class(&self, name: &str) -> Option<Node<'_>> {
        all(self.root()).into_iter().find(|n| n.kind() == "class_definition" && self.field(*n, "name") == Some(name))
    }

    /// Assignments to `target` inside of a node, in order: the whole statement and what is assigned.
    pub(super) fn assignments<'t>(&'t self, inside: Node<'t>, target: &str) -> Vec<(Node<'t>, Node<'t>)> {
        all(inside)
            .into_iter()
            .filter(|n| n.kind() == "assignment" && self.field(*n, "left") == Some(target))
            .filter_map(|n| Some((n, n.child_by_field_name("right")?)))
            .collect()
    }

    /// Variables that an expression reads: names and chains of attributes, each once.
    pub(super) fn variables(&self, expression: Node) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut open = vec![expression];
        while let Some(node) = open.pop() {
            let is_chain = match node.kind() {
                "identifier" => true,
                "attribute" => is_chain(node),
                _ => false,
            };
            if is_chain {
                let name = self.text(node).to_owned();
                if !found.contains(&name) {
                    found.push(name);
                }
                continue;
            }
            let function = node.child_by_field_name("function").filter(|_| node.kind() == "call");
            let keyword = node.child_by_field_name("name").filter(|_| node.kind() == "keyword_argument");
            let mut children = children(node);
            children.retain(|child| Some(*child) != keyword);
            // Of a method, the object is read; a function by its own name says nothing.
            if let Some(function) = function {
                children.retain(|child| *child != function);
                children.extend(function.child_by_field_name("object").filter(|_| function.kind() == "attribute"));
            }
            open.extend(children.into_iter().rev());
        }
        found
    }

    /// The type that a function's parameter is annotated with: the first name in it. None where there is no such parameter.
    pub(super) fn parameter(&self, function: Node, name: &str) -> Option<Option<String>> {
        let parameters = function.child_by_field_name("parameters")?;
        children(parameters).into_iter().find_map(|parameter| {
            let named = parameter.child_by_field_name("name").or_else(|| parameter.named_child(0));
            let own = if parameter.kind() == "identifier" { Some(parameter) } else { named };
            let annotation = parameter.child_by_field_name("type").map(|ty| {
                let first = all(ty).into_iter().find(|n| n.kind() == "identifier");
                first.map(|n| self.text(n).to_owned())
            });
            (own.is_some_and(|n| self.text(n) == name)).then(|| annotation.flatten())
        })
    }

    /// Names of the classes that a class is made from.
    pub(super) fn bases(&self, class: Node) -> Vec<String> {
        let Some(bases) = class.child_by_field_name("superclasses") else { return Vec::new() };
        children(bases).into_iter().filter(|n| n.kind() == "identifier").map(|n| self.text(n).to_owned()).collect()
    }

    /// The module that a name is imported from: `..modeling_utils`.
    pub(super) fn imported_from(&self, name: &str) -> Option<&str> {
        let imports = all(self.root()).into_iter().filter(|n| n.kind() == "import_from_statement");
        imports
            .filter(|import| {
                let module = import.child_by_field_name("module_name");
                let names = children(*import).into_iter().filter(|n| Some(*n) != module);
                names.into_iter().any(|n| self.text(n) == name || self.field(n, "alias") == Some(name))
            })
            .find_map(|import| self.field(import, "module_name"))
    }
}

/// Whether a node stands on a line, from 1.
pub(super) fn holds(node: Node, line: u32) -> bool {
    (line_of(node)..=last_line_of(node)).contains(&line)
}

/// The line that a node begins on, from 1.
pub(super) fn line_of(node: Node) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

fn last_line_of(node: Node) -> u32 {
    u32::try_from(node.end_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

fn is_chain(node: Node) -> bool {
    let mut node = node;
    while node.kind() == "attribute" {
        let Some(object) = node.child_by_field_name("object") else { return false };
        node = object;
    }
    node.kind() == "identifier"
}

/// Named children, in order.
pub(super) fn children(node: Node) -> Vec<Node> {
    node.named_children(&mut node.walk()).collect()
}

/// A node and all below it, in the order of the text.
pub(super) fn all(node: Node) -> Vec<Node> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        found.push(node);
        open.extend(children(node).into_iter().rev());
    }
    found
}

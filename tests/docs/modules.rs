//! The table of modules in the page on architecture, read off the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use regex::Regex;

use super::{root, up_to_date, with_blocks};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The files below a folder with their code, that of tests and comments left out.
pub(super) fn sources_of(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(folder, &mut files);
    files.sort();
    let comment = Regex::new(r"(?m)//.*$").unwrap();
    let tests = Regex::new(r"#\[cfg\(test\)\]\nmod \w+ \{").unwrap();
    let code = |file: PathBuf| {
        let inside = file.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        if inside.contains("test") {
            return None;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = tests.split(&text).next()?;
        Some((inside, comment.replace_all(code, "").into_owned()))
    };
    files.into_iter().filter_map(code).collect()
}

/// Which modules the code of each one names, that of tests left out.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let named = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, code) in sources_of(&root().join("src")) {
        let module = file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let own = imports.entry(module.clone()).or_default();
        own.extend(named.captures_iter(&code).map(|c| c[1].to_owned()).filter(|name| *name != module));
    }
    let modules: BTreeSet<String> = imports.keys().cloned().collect();
    imports.values_mut().for_each(|names| names.retain(|name| modules.contains(name)));
    imports
}

#[test]
fn the_table_of_modules_is_up_to_date() {
    let path = root().join("docs/src/architecture.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let table: String = imports()
        .iter()
        .map(|(module, names)| format!("{module:<10} {}\n", names.iter().cloned().collect::<Vec<_>>().join(" ")))
        .collect();
    let table = table.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
    up_to_date(&path, &with_blocks(&page, "modules", |_| table.clone()));
}

/// What needs each other, by what each one needs.
fn circles(needs: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<&str>> {
    let mut graph: DiGraph<&str, ()> = DiGraph::new();
    let places: BTreeMap<&str, _> = needs.keys().map(|name| (name.as_str(), graph.add_node(name))).collect();
    for (one, others) in needs {
        others.iter().for_each(|other| _ = graph.add_edge(places[one.as_str()], places[other.as_str()], ()));
    }
    let circles = kosaraju_scc(&graph).into_iter().filter(|c| c.len() > 1);
    let mut circles: Vec<Vec<&str>> = circles.map(|c| c.into_iter().map(|n| graph[n]).collect()).collect();
    circles.iter_mut().for_each(|c| c.sort_unstable());
    circles.sort_unstable();
    circles
}

#[test]
fn modules_form_no_circles() {
    // Types name operators, and operators name types.
    assert_eq!(circles(&imports()), [["ir", "ops"]]);
}

/// Files that need each other, and why.
const CIRCLES: &[(&[&str], &str)] = &[
    (&["frontend/pt2/argument.rs", "frontend/pt2/schema.rs"], "an argument may be a graph, which holds arguments"),
    (
        &[
            "ops/aten.rs",
            "ops/bounds.rs",
            "ops/call.rs",
            "ops/elements.rs",
            "ops/mod.rs",
            "ops/semantics.rs",
            "ops/work.rs",
        ],
        "an operator's entry holds functions of its calls, and a call names the entry",
    ),
];

/// A path in the crate: `["ops", "call", "Call"]`.
type CratePath = Vec<String>;

/// The files of the crate, as modules.
#[derive(Default)]
struct Crate {
    /// Where each module stands, and its code.
    files: BTreeMap<CratePath, (String, String)>,
    /// What each module imports, by the name that it has there.
    names: BTreeMap<CratePath, BTreeMap<String, CratePath>>,
}

/// The paths of a `use` line, one by one: `a::{b, c::d}` stands for `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let mut depth = 0;
    let parts = rest[..rest.rfind('}').unwrap()].split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty()).flat_map(expanded);
    parts.map(|part| format!("{}{part}", head.trim())).collect()
}

/// The code without its imports, and the paths that these name, with whether others can name them by this module.
fn imported(code: &str) -> (String, Vec<(bool, String)>) {
    let line = Regex::new(r"(?m)^\s*(pub )?use ([^;]+);").unwrap();
    let paths = line.captures_iter(code).flat_map(|c| {
        let public = c.get(1).is_some();
        expanded(&c[2]).into_iter().map(move |path| (public, path))
    });
    (line.replace_all(code, "").into_owned(), paths.collect())
}

impl Crate {
    fn read() -> Crate {
        let mut all = Crate::default();
        // `pub(in crate::a)` needs nothing of `a`.
        let visibility = Regex::new(r"pub\([^)]*\)").unwrap();
        for (file, code) in sources_of(&root().join("src")) {
            let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
            let path = path.split('/').filter(|word| *word != "lib").map(str::to_owned).collect();
            all.files.insert(path, (file, visibility.replace_all(&code, "pub").into_owned()));
        }
        for (module, (_, code)) in &all.files {
            let named = imported(code).1.into_iter().filter_map(|(_, path)| {
                let (path, name) = path.split_once(" as ").unwrap_or((&path, path.rsplit("::").next()?));
                Some((name.to_owned(), all.absolute(module, path)?))
            });
            let named = named.collect();
            all.names.insert(module.clone(), named);
        }
        all
    }

    /// What a path means in a module; none where it leads to another crate, or is that of a local name.
    fn absolute(&self, module: &[String], path: &str) -> Option<CratePath> {
        let path = path.trim_end_matches("::self");
        let mut words = path.split("::").map(str::to_owned).peekable();
        let mut place = module.to_vec();
        match words.peek()?.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => _ = place.pop(),
            first => {
                let child = [module, &[first.to_owned()]].concat();
                let named = || self.names.get(module)?.get(first).cloned();
                place = if self.files.contains_key(&child) { child } else { named()? };
            }
        }
        words.next();
        while words.next_if(|word| word == "super").is_some() {
            place.pop();
        }
        place.extend(words);
        Some(place)
    }

    /// The module that defines what a path leads to, past others that only pass it on.
    fn home(&self, path: &[String]) -> CratePath {
        let split = (0..=path.len()).rev().map(|n| path.split_at(n));
        let (module, rest) = split.into_iter().find(|(module, _)| self.files.contains_key(*module)).unwrap();
        let meant = rest.first().and_then(|name| self.names.get(module)?.get(name));
        match meant {
            Some(meant) if meant != path => self.home(&[meant, &rest[1..]].concat()),
            _ => module.to_vec(),
        }
    }

    /// The files that the code of a module needs. What it passes on of the modules below it, it does not need itself.
    fn needs(&self, module: &[String]) -> BTreeSet<String> {
        let (file, code) = &self.files[module];
        let (rest, imports) = imported(code);
        let path = Regex::new(r"(?:^|[^\w:])((?:\w+::)+\w+)").unwrap();
        let within = path.captures_iter(&rest).map(|c| (false, c[1].to_owned()));
        let homes = imports.into_iter().chain(within).filter_map(|(public, path)| {
            let path = path.split(" as ").next()?;
            let home = self.home(&self.absolute(module, path)?);
            (!public || !home.starts_with(module)).then_some(home)
        });
        homes.map(|home| self.files[&home].0.clone()).filter(|other| other != file).collect()
    }
}

#[test]
fn files_form_no_circles() {
    let all = Crate::read();
    let needs = all.files.iter().map(|(module, (file, _))| (file.clone(), all.needs(module)));
    let expected: Vec<&[&str]> = CIRCLES.iter().map(|(files, _)| *files).collect();
    assert_eq!(circles(&needs.collect()), expected);
}

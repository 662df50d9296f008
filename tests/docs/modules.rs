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
    let code = |file: PathBuf| {
        let inside = file.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        if inside.contains("test") {
            return None;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next()?;
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

#[test]
fn modules_form_no_circles() {
    let imports = imports();
    let mut graph: DiGraph<&str, ()> = DiGraph::new();
    let places: BTreeMap<&str, _> = imports.keys().map(|name| (name.as_str(), graph.add_node(name))).collect();
    for (module, names) in &imports {
        names.iter().for_each(|name| _ = graph.add_edge(places[module.as_str()], places[name.as_str()], ()));
    }
    let circles = kosaraju_scc(&graph).into_iter().filter(|c| c.len() > 1);
    let mut circles: Vec<Vec<&str>> = circles.map(|c| c.into_iter().map(|n| graph[n]).collect()).collect();
    circles.iter_mut().for_each(|c| c.sort_unstable());
    // Types name operators, and operators name types.
    assert_eq!(circles, [["ir", "ops"]]);
}

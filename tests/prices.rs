//! Every graph has a price: whatever the repository holds, and, where they were written, the exports of the survey.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use magneton_ir::energy::{Bill, CostModel, Source, graph_items};
use magneton_ir::{frontend, ops};

/// The graphs below a folder.
fn graphs(folder: &Path, all: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|e| Some(e.ok()?.path())) {
        if path.is_dir() {
            graphs(&path, all);
        } else if path.extension().is_some_and(|e| e == "mir" || e == "pt2") {
            all.push(path);
        }
    }
}

/// Folders to look through: those of the repository, and those that `MAGNETON_GRAPHS` names, with `:` between them.
fn folders() -> Vec<PathBuf> {
    let own = ["corpus", "tests"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    let more = std::env::var_os("MAGNETON_GRAPHS");
    own.into_iter().chain(more.iter().flat_map(std::env::split_paths)).collect()
}

#[test]
fn no_graph_has_an_unknown_price_but_for_operators_without_a_definition() {
    let model = CostModel::shipped().unwrap();
    let mut all = Vec::new();
    folders().iter().for_each(|folder| graphs(folder, &mut all));
    let (mut priced, mut widths, mut opaque) = (0, Vec::new(), BTreeSet::new());
    for path in all {
        // Some are there to be refused.
        let Ok(graph) = frontend::load(&path) else { continue };
        let bill: Bill = graph_items(&graph, &model).iter().collect();
        let energy = bill.total().energy_mj;
        let gaps: Vec<&str> = bill.gaps().map(|(op, ..)| op).collect();
        let in_table: Vec<&&str> = gaps.iter().filter(|op| ops::find(op).is_some()).collect();
        assert!(in_table.is_empty(), "{}: {in_table:?}", path.display());
        assert_eq!(energy.source == Source::Unknown, !gaps.is_empty(), "{}", path.display());
        opaque.extend(gaps.iter().map(|op| (*op).to_owned()));
        priced += usize::from(gaps.is_empty());
        if gaps.is_empty() && energy.value > 0.0 {
            widths.push((energy.high / energy.low).sqrt() - 1.0);
        }
    }
    widths.sort_by(f64::total_cmp);
    println!("{priced} graphs priced; half-width of their intervals: {:.3} in the median", widths[widths.len() / 2]);
    println!("opaque: {opaque:?}");
    assert!(priced > 100);
}

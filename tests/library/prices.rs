//! Every graph has a price: whatever the repository holds, and, where they were written, the exports of the survey.

use std::collections::{BTreeMap, BTreeSet};
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

/// Graphs that were measured in one piece and that nothing was fitted on: millijoules, microseconds, and microseconds that the
/// host took, by how they were launched.
type Truths = BTreeMap<String, BTreeMap<String, [f64; 3]>>;

struct Judged {
    name: String,
    error: f64,
    time_error: f64,
    half_width: f64,
    covered: bool,
    energy: f64,
    truth: f64,
}

fn judged(part: impl Fn(&str) -> bool, mode: &str) -> Vec<Judged> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/energy/graphs");
    let text = std::fs::read_to_string(folder.join("measured.json")).unwrap();
    let truths: Truths = serde_json::from_str(&text).unwrap();
    let model = CostModel::shipped().unwrap();
    let mut all = Vec::new();
    for (name, modes) in truths.iter().filter(|(name, _)| part(name)) {
        let Some([mj, us, _]) = modes.get(mode) else { continue };
        let graph = frontend::load(folder.join(name)).unwrap();
        let cost = graph_items(&graph, &model).iter().collect::<Bill>().total();
        let e = cost.energy_mj;
        all.push(Judged {
            name: name.clone(),
            error: e.value / mj - 1.0,
            time_error: cost.time_us.value / us - 1.0,
            half_width: (e.high - e.low) / 2.0 / e.value,
            covered: e.low <= *mj && *mj <= e.high,
            energy: e.value,
            truth: *mj,
        });
    }
    all.sort_by(|a, b| a.error.abs().total_cmp(&b.error.abs()));
    for j in &all {
        println!(
            "{:45} {:+.3} time {:+.3} ±{:.3} {} {:.3} {:.3}",
            j.name, j.error, j.time_error, j.half_width, j.covered, j.energy, j.truth
        );
    }
    let covered = all.iter().filter(|j| j.covered).count() as f64 / all.len() as f64;
    let (middle, last) = (&all[all.len() / 2], &all[all.len() - 1]);
    println!(
        "{} {mode}: median {:.3}, worst {:.3} ({}), covered {covered:.2}",
        all.len(),
        middle.error.abs(),
        last.error.abs(),
        last.name
    );
    all
}

/// What was reached; the goals are tighter. Of `zoo`, the kernels of the developed half were measured after the graphs were; nothing of
/// the other half was looked at but its totals.
#[test]
fn graphs_kept_apart_are_priced_well() {
    let is_small = |name: &str| name.starts_with("small");
    let is_zoo = |name: &str| name.starts_with("zoo");
    let median = |all: &[Judged]| all[all.len() / 2].error.abs();
    let models = judged(|name| !is_small(name) && !is_zoo(name), "recorded");
    assert!(models.len() >= 37 && median(&models) < 0.085);
    let small = judged(is_small, "recorded");
    assert!(small.len() >= 60 && median(&small) < 0.13);
    let developed = judged(|name| name.starts_with("zoo/developed"), "recorded");
    assert!(developed.len() >= 23 && median(&developed) < 0.06);
    let held_out = judged(|name| name.starts_with("zoo/held-out"), "recorded");
    assert!(held_out.len() >= 26 && median(&held_out) < 0.11);
    let covered = models.iter().chain(&small).filter(|j| j.covered).count();
    assert!(covered * 100 >= 85 * (models.len() + small.len()), "{covered}");
}

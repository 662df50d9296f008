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

#[test]
fn graphs_kept_apart_are_priced_well() {
    judged(|name| !name.starts_with("small"), "recorded");
    judged(|name| name.starts_with("small"), "recorded");
}

#[test]
#[ignore]
fn debug_top() {
    let model = CostModel::shipped().unwrap();
    for f in std::env::var("F").unwrap().split(',') {
        let graph = frontend::load(f).unwrap();
        let calls = magneton_ir::energy::graph_calls(&graph, &model);
        let mut by: BTreeMap<String, (f64, f64, usize, String)> = BTreeMap::new();
        for (key, cost) in calls {
            if let Some(key) = key {
                let e = by.entry(key.to_string()).or_default();
                e.0 += cost.energy_mj.value;
                e.1 += cost.time_us.value;
                e.2 += 1;
                e.3 = format!("{:?}", cost.basis_mj).chars().filter(|c| !c.is_whitespace()).collect();
            }
        }
        let mut all: Vec<_> = by.into_iter().collect();
        all.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
        println!("{f}");
        for (k, (e, t, n, b)) in all.iter().take(14) {
            let basis = ["measured", "interpolated", "class", "bounds"]
                .iter()
                .find(|x| !b.contains(&format!("{x}:0.0,")) && !b.contains(&format!("{x}:0.0}}")))
                .unwrap_or(&"");
            println!("{e:9.2} {t:8.1} {n:3} {basis} {}", &k[..k.len().min(150)]);
        }
    }
}

#[test]
#[ignore]
fn debug_replays() {
    let model = CostModel::shipped().unwrap();
    for (name, whole) in model.profile().replays.iter().filter(|(n, _)| n.ends_with(".pt2") && !n.contains(':')) {
        let graph = frontend::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
        let cost = graph_items(&graph, &model).iter().collect::<Bill>().total();
        println!(
            "{name:50} {:+.3} {:+.3} launch_bound {}",
            cost.energy_mj.value / whole.energy_mj.mean - 1.0,
            cost.time_us.value / whole.time_us.mean - 1.0,
            whole.launch_bound
        );
    }
}

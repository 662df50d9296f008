//! The JSON that scripts depend on.

use std::collections::HashSet;

use super::*;

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// What scripts may rely on; see `ARCHITECTURE.md`.
fn keeps_the_contract(a: &str, b: &str) {
    let report = json(a, b);
    let has = |value: &Value, keys: &[&str]| {
        for key in keys {
            assert!(value.get(key).is_some(), "no key {key} for {a} {b}");
        }
    };
    has(
        &report,
        &["schema", "verdict", "tier", "a", "b", "best", "regions", "witness", "unproven", "assumptions", "timing_ms"],
    );
    assert_eq!(report["schema"], "magneton-ir/check/1");
    assert_eq!(report["witness"].is_null(), report["verdict"] != "different");
    assert_eq!(report["tier"].is_null(), report["verdict"] != "equivalent");
    let regions = report["regions"].as_array().unwrap();
    // The region where the sides part, if there is one, is the last and the only one that is not proven.
    let (proven, parted): (Vec<&Value>, Vec<&Value>) = regions.iter().partition(|r| r["tier"] != "none");
    let last = parted.first().map_or(Value::Null, |r| r["id"].clone());
    assert!(parted.len() <= 1 && report["witness"].get("region").unwrap_or(&Value::Null) == &last, "{a} {b}");
    for (side, file) in [("a", a), ("b", b)] {
        has(&report[side], &["file", "ops", "covered_ops", "energy_mj", "time_us"]);
        assert_eq!(report[side]["file"], file);
        let energy = &report[side]["energy_mj"];
        assert_eq!(energy["source"] == "unknown", energy["value"].is_null());
        let names: Vec<String> = regions.iter().flat_map(|r| strings(&r[&format!("{side}_ops")])).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "regions overlap in {file}");
        let names: Vec<String> = proven.iter().flat_map(|r| strings(&r[&format!("{side}_ops")])).collect();
        assert_eq!(names.len() as u64, report[side]["covered_ops"].as_u64().unwrap());
        assert!(report[side]["covered_ops"].as_u64() <= report[side]["ops"].as_u64());
    }
    for region in regions {
        has(region, &["id", "tier", "rules", "a", "b", "best", "cause"]);
        assert!(["a", "b", "other"].contains(&region["best"]["form"].as_str().unwrap()));
        for side in ["a", "b"] {
            has(&region[side], &["energy_mj", "time_us", "launches", "flops", "bytes"]);
            let (best, own) = (region["best"]["energy_mj"].as_f64(), region[side]["energy_mj"].as_f64());
            assert!(best.zip(own).is_none_or(|(best, own)| best <= own * (1.0 + 1e-9)));
        }
    }
}

fn pairs(ending: &str) -> Vec<PathBuf> {
    let folder = Path::new("corpus/pairs");
    let mut all: Vec<PathBuf> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.display().to_string().contains(ending));
    all.sort();
    all
}

fn pairs_keep_the_contract(every: usize) {
    let all = pairs(".b");
    assert!(all.len() > 40);
    for b in all.iter().step_by(every) {
        let b = b.display().to_string();
        let stem = b.split(".b").next().unwrap();
        keeps_the_contract(&format!("{stem}.a.mir"), &b);
    }
}

#[test]
fn pairs_keep_the_json_contract() {
    pairs_keep_the_contract(10);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn all_pairs_keep_the_json_contract() {
    pairs_keep_the_contract(1);
}

#[test]
fn an_export_keeps_the_json_contract() {
    keeps_the_contract("corpus/exports/qwen2-4l-eager.pt2", "corpus/exports/qwen2-4l-sdpa.pt2");
}

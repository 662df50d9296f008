//! How a workload is run: recorded as a CUDA graph, or launched one by one.

use super::*;

const SMALL: &str = "corpus/energy/graphs/models/shufflenet.pt2";

fn report(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

fn shown(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout)
}

/// ShuffleNet on few images was measured: 0.11 J recorded, 0.51 J launched one by one.
#[test]
fn small_work_waits_for_the_host_unless_it_is_recorded() {
    let eager = report(&["optimize", SMALL]);
    assert_eq!(report(&["optimize", SMALL, "--launch", "eager"]), eager, "eager is how people run");
    let recorded = report(&["optimize", SMALL, "--launch", "graph"]);
    assert_eq!(recorded["energy_mj"], eager["energy_mj"]);
    assert!(recorded["launched"].is_null() && recorded["best_launched"].is_null());
    let launched = eager["launched"]["energy_mj"]["value"].as_f64().unwrap();
    assert!((launched / 510.5 - 1.0).abs() < 0.2, "{launched}");
    assert!(launched > 3.0 * eager["energy_mj"]["value"].as_f64().unwrap());

    // Of this workload, forms of more operators save kernels energy, and cost more than that in waiting.
    let mj = |report: &Value, key: &str| report[key]["value"].as_f64().unwrap();
    assert!(mj(&recorded, "best_energy_mj") < mj(&recorded, "energy_mj"));
    assert!(mj(&eager["best_launched"], "energy_mj") <= launched, "no form that costs more is called the best");

    let text = shown(&["optimize", SMALL]);
    assert!(text.contains(" waiting for the host, ") && text.contains("; recorded as a CUDA graph: "), "{text}");
    let text = shown(&["optimize", SMALL, "--launch", "graph"]);
    assert!(!text.contains("waiting for the host") && !text.contains("CUDA graph"), "{text}");
}

#[test]
fn both_sides_of_a_comparison_wait() {
    let (a, b) = pair("rms_norm");
    let eager = report(&["check", &a, &b]);
    let recorded = report(&["check", &a, &b, "--launch", "graph"]);
    for side in ["a", "b"] {
        assert!(recorded[side]["launched"].is_null());
        assert_eq!(recorded[side]["energy_mj"], eager[side]["energy_mj"]);
        let waiting = eager[side]["launched"]["waiting_mj"]["value"].as_f64().unwrap();
        assert!(waiting > eager[side]["energy_mj"]["value"].as_f64().unwrap());
    }
    assert!(shown(&["check", &a, &b]).contains("recorded as a CUDA graph"));
    // Regions are of kernels, whatever waits.
    assert_eq!(eager["regions"], recorded["regions"]);
    let [eager, recorded] = ["eager", "graph"].map(|launch| shown(&["explain", &a, &b, "1", "--launch", launch]));
    assert_eq!(eager, recorded);
}

#[test]
fn a_profile_that_knows_no_host_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json").display().to_string();
    let profile = std::fs::read_to_string("corpus/energy/h200.json").unwrap();
    let start = profile.find(",\n\"host\"").unwrap();
    let end = start + 2 + profile[start + 2..].find('\n').unwrap() - 1;
    std::fs::write(&path, format!("{}{}", &profile[..start], &profile[end..])).unwrap();
    let (a, b) = pair("rms_norm");
    let text = shown(&["check", &a, &b, "--profile", &path]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("how long it waits for the host is not known") && !text.contains("CUDA graph"), "{text}");
    let text = shown(&["check", &a, &b, "--profile", &path, "--launch", "graph"]);
    assert!(!text.contains("host"), "{text}");
    refused(&["check", &a, &b, "--launch", "slowly"], &["--launch", "graph", "eager"]);
}

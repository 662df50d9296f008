//! The binary as users and scripts call it: exit status, what goes to which stream, the JSON contract.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use predicates::prelude::*;
use serde_json::Value;

/// The binary, which leaves the user's cache alone.
fn binary() -> Command {
    let mut command = Command::cargo_bin("magneton-ir").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("NO_COLOR").env("XDG_CACHE_HOME", CACHE);
    command
}

const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

fn run(args: &[&str]) -> Output {
    binary().args(args).output().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("the program was killed by a signal")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Trouble: exit status 2, nothing on standard output, and a diagnostic with `parts` on standard error.
fn refused(args: &[&str], parts: &[&str]) -> String {
    let output = run(args);
    let message = text(&output.stderr);
    assert_eq!(status(&output), 2, "{args:?}: {message}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{args:?}: {part} in\n{message}");
    }
    message
}

fn pair(name: &str) -> (String, String) {
    (format!("corpus/pairs/{name}.a.mir"), format!("corpus/pairs/{name}.b.mir"))
}

#[test]
fn the_exit_status_tells_the_verdict() {
    let (a, b) = pair("addmm");
    assert_eq!(status(&run(&["check", &a, &b])), 0);
    assert_eq!(status(&run(&["check", &a, "corpus/pairs/addmm.b-wrong-sign.mir"])), 1);
    assert_eq!(status(&run(&["check", &a, &b, "--tier", "exact"])), 1, "addmm is not bit for bit");
    refused(&["check", &a, "no/such/file.mir"], &["no/such/file.mir"]);
    refused(&["check", &a], &["Usage"]);
    refused(&["check", &a, &b, "--tier", "nearly"], &["exact, real, rounding"]);
    refused(&["check", &a, &b, "--config-a", "allow_tf23=true"], &["allow_tf23", "allow_tf32"]);
    refused(&["check", &a, &b, "--threshold", "3%"], &["--fail-on"]);
    refused(&["explain", &a, &b, "99"], &["no region 99"]);
    refused(&["check", &a, &b, "--bind", "no/such.bind"], &["no/such.bind"]);
    refused(&["check", &a, &b, "--bind", "corpus/exports/serving.bind"], &["serving.bind:2:1", "nothing is called"]);
}

#[test]
fn proof_files_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.json");
    let file = path.to_str().unwrap();
    let models =
        ["qwen2-4l", "gpt2"].map(|m| (format!("corpus/exports/{m}-eager.pt2"), format!("corpus/exports/{m}-sdpa.pt2")));
    for (a, b) in models.into_iter().chain([pair("attention")]) {
        assert_eq!(status(&run(&["check", &a, &b, "--proof", file])), 0);
        let output = run(&["verify-proof", file, &a, &b]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        assert!(text(&output.stdout).starts_with("shown: equivalent, tier rounding\n"), "{}", text(&output.stdout));
    }
    let (a, b) = pair("attention");
    assert_eq!(status(&run(&["verify-proof", file, &a, "corpus/pairs/attention.b-wrong-mask.mir"])), 1);
    refused(&["verify-proof", file, &b, &pair("gelu").1], &["inputs"]);
    refused(&["verify-proof", &a, &a, &b], &["no proof file"]);
    refused(&["verify-proof", "no/such/proof", &a, &b], &["no/such/proof"]);
    refused(&["check", &a, &b, "--proof", "no/such/folder/proof"], &["no/such/folder/proof"]);
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    refused(&["verify-proof", file, &a, &b], &["no proof file"]);
}

/// The replay binds anew, from the same values.
#[test]
fn a_proof_over_weights_bound_by_their_values_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.json");
    let file = path.to_str().unwrap();
    let [a, b, other] = ["plain", "turned", "other"].map(|name| format!("tests/data/weights-{name}.pt2"));
    let output = run(&["check", &a, &b, "--proof", file]);
    assert_eq!(status(&output), 0);
    assert!(text(&output.stdout).contains("same values in both files"), "{}", text(&output.stdout));
    let output = run(&["verify-proof", file, &a, &b]);
    assert!(text(&output.stdout).starts_with("shown: equivalent"), "{output:?}");
    assert_ne!(status(&run(&["verify-proof", file, &a, &other])), 0);
}

#[test]
fn help_is_on_standard_output() {
    let output = run(&["--help"]);
    assert_eq!(status(&output), 0);
    assert!(predicate::str::contains("explain").eval(&text(&output.stdout)));
    assert_eq!(status(&run(&[])), 2);
}

#[test]
fn hostile_files_get_a_diagnostic() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let (good, _) = pair("addmm");
    let archive = std::fs::read("corpus/exports/qwen2-4l-sdpa.pt2").unwrap();
    let deep = format!("graph g(x: f32[2]) {{ a = {}", "neg(".repeat(200_000));
    let hostile = [
        write("empty.mir", b""),
        write("binary.pt2", &[0xff; 4096]),
        write("half.pt2", &archive[..archive.len() / 2]),
        write("head.pt2", &archive[..4]),
        write("deep.mir", deep.as_bytes()),
        write("huge.mir", b"graph g(x: f32[99999999999, 99999999999]) { return x }"),
        write("words.mir", "größe 🙂 \u{0}".as_bytes()),
        folder.path().display().to_string(),
    ];
    for file in &hostile {
        refused(&["check", &good, file], &[]);
        refused(&["lower", file], &[]);
    }
    refused(&["check", &good, &good, "--rules", &hostile[1]], &[]);
    refused(&["check", &good, &good, "--profile", &hostile[6]], &["words.mir"]);
}

#[test]
fn errors_in_mir_files_are_shown_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.mir");
    let source = "graph g(x: f32[4, 3], weight: param f32[3, 5]) {\n  y = matmul(x, weigth)\n  \
                  z = gelu(x; aproximate=\"tanh\")\n  s = add(x, weight)\n  return y, z, s\n}\n";
    std::fs::write(&path, source).unwrap();
    // From within the folder, so that the length of its name does not change where lines break.
    let output = binary().current_dir(folder.path()).args(["lower", "wrong.mir"]).output().unwrap();
    assert_eq!((status(&output), text(&output.stdout)), (2, String::new()));
    let message = text(&output.stderr);
    insta::assert_snapshot!(message);
}

#[test]
fn graphs_survive_lowering() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["corpus/exports/qwen2-4l-eager.pt2", "corpus/pairs/attention.b.mir"] {
        let output = run(&["lower", file]);
        assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
        let lowered = folder.path().join("lowered.mir");
        std::fs::write(&lowered, &output.stdout).unwrap();
        let again = run(&["lower", lowered.to_str().unwrap()]);
        assert_eq!(text(&again.stdout), text(&output.stdout));
        let report = json(file, lowered.to_str().unwrap());
        assert_eq!((&report["verdict"], &report["tier"]), (&"equivalent".into(), &"exact".into()), "{file}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = binary()
        .args(["lower", "corpus/exports/gpt2-eager.pt2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
}

#[test]
fn reports_for_pipes_are_plain() {
    let (a, b) = pair("attention");
    let output = run(&["check", &a, &b]);
    let report = text(&output.stdout);
    assert!(report.starts_with("equivalent, tier rounding"), "{report}");
    assert!(!report.contains('\u{1b}'), "{report:?}");
    assert!(report.lines().all(|l| l.chars().count() <= 100), "{report}");
    assert_eq!(text(&output.stderr), "", "no progress without a terminal");
    let markdown = text(&run(&["check", &a, &b, "--format", "markdown"]).stdout);
    assert!(markdown.starts_with("**equivalent") && markdown.contains("| A "), "{markdown}");
}

#[test]
fn a_region_is_explained_step_by_step() {
    let (a, b) = pair("addmm");
    let output = run(&["explain", &a, &b, "1"]);
    let report = text(&output.stdout);
    assert_eq!(status(&output), 0, "{report}");
    for part in ["region 1 of 1, tier real", "addmm", "proof", "1. ", "[real]"] {
        assert!(report.contains(part), "{part} in\n{report}");
    }
}

#[test]
fn tf32_is_equal_only_within_an_error() {
    let (a, b) = pair("addmm");
    let with = |tier: &[&str]| run(&[&["check", &a, &b, "--config-b", "allow_tf32=true"], tier].concat());
    let strict = with(&[]);
    assert_eq!(status(&strict), 1);
    let report = text(&strict.stdout);
    assert!(report.contains("flags of B: allow_tf32=true") && report.contains("equal only at tier approx"), "{report}");
    let loose = with(&["--tier", "approx"]);
    assert_eq!(status(&loose), 0);
    assert!(text(&loose.stdout).starts_with("equivalent, tier approx("), "{}", text(&loose.stdout));
    assert_eq!(status(&with(&["--tier", "approx(0.0001)"])), 1, "TF32 is less precise than that");
    let both = ["--config-b", "allow_tf32=true", "--config-a", "allow_tf32=true"];
    assert_eq!(status(&run(&[&["check", &a, &b], &both[..]].concat())), 0, "both sides round alike");
}

#[test]
fn an_optimized_graph_is_cheaper_and_proven_equal() {
    let folder = tempfile::tempdir().unwrap();
    let better = folder.path().join("better.mir").display().to_string();
    let file = "corpus/exports/gpt2-eager.pt2";
    let output = run(&["optimize", file, "--json", "--write", &better]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "magneton-ir/optimize/1");
    let (now, best) = (&found["energy_mj"], &found["best_energy_mj"]);
    assert!(best["value"].as_f64().unwrap() < 0.95 * now["value"].as_f64().unwrap(), "{now} {best}");
    let forms = found["cheaper"].as_array().unwrap();
    assert!(forms.iter().all(|f| !f["steps"].as_array().unwrap().is_empty()), "every form has its proof");

    let compared = json(file, &better);
    assert_eq!(compared["verdict"], "equivalent");
    let energy = compared["b"]["energy_mj"]["value"].as_f64().unwrap();
    assert!((energy / best["value"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{energy} {best}");
}

fn json(a: &str, b: &str) -> Value {
    let output = run(&["check", a, b, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let expected = if report["verdict"] == "equivalent" { 0 } else { 1 };
    assert_eq!(status(&output), expected, "{a} {b}");
    report
}

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

#[test]
fn pairs_keep_the_json_contract() {
    let all = pairs(".b");
    assert!(all.len() > 40);
    for b in all {
        let b = b.display().to_string();
        let stem = b.split(".b").next().unwrap();
        keeps_the_contract(&format!("{stem}.a.mir"), &b);
    }
}

#[test]
fn an_export_keeps_the_json_contract() {
    keeps_the_contract("corpus/exports/qwen2-4l-eager.pt2", "corpus/exports/qwen2-4l-sdpa.pt2");
}

#[test]
fn rules_are_listed() {
    let output = run(&["rules", "list"]);
    let list = text(&output.stdout);
    assert_eq!(status(&output), 0);
    assert!(list.lines().count() > 50 && list.contains("addmm"), "{list}");
}

const RIGHT: &str = "/// Negation, twice.
rule my_double_negation [exact]:
    neg(neg(x)) => x

/// What my library calls a scaled addition.
op mine.axpy(x, y; alpha) = add(mul(x, alpha), y)
";

const WRONG: &str = "/// Subtraction does not commute.
rule my_mistake [real]:
    sub(x, y) => sub(y, x)
";

#[test]
fn the_rules_of_a_proof_are_counted() {
    let (a, b) = pair("addmm");
    let output = run(&["rules", "list", "--used", &a, &b]);
    assert_eq!(status(&output), 0);
    let list = text(&output.stdout);
    assert!(list.contains("   1  addmm_split") && list.lines().count() < 10, "{list}");
}

#[test]
fn rule_files_are_laid_out_and_their_tests_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.rules");
    let file = path.display().to_string();
    let rule = "/// Twice.\nrule twice [exact]:\n    neg(neg(x)) => x\n";
    let untidy = format!("{}\ntest  twice{{x:f32[2]}}\ntest twice {{ x: bool[2] }}\n", rule.replace(" => ", "=>"));
    std::fs::write(&path, &untidy).unwrap();
    let read = || std::fs::read_to_string(&path).unwrap();
    assert_eq!((status(&run(&["rules", "fmt", "--check", &file])), read()), (1, untidy));
    assert_eq!(status(&run(&["rules", "fmt", &file])), 0);
    assert_eq!(read(), format!("{rule}\ntest twice {{ x: f32[2] }}\ntest twice {{ x: bool[2] }}\n"));
    assert_eq!(status(&run(&["rules", "fmt", "--check", &file])), 0);

    let output = run(&["rules", "test", &file]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).ends_with("2 tests, 1 failed\n"), "{}", text(&output.stdout));
    let problem = text(&output.stderr);
    assert!(problem.contains("rules::no_instance") && problem.contains("bool"), "{problem}");

    let output = run(&["rules", "check", "--table", &file]);
    assert_eq!(status(&output), 0);
    assert!(text(&output.stdout).contains("twice  exact"), "{}", text(&output.stdout));
}

#[test]
fn a_new_rule_is_written_from_two_snippets() {
    let (a, b) = pair("addmm");
    let output = run(&["rules", "new", &a, &b, "--name", "mine"]);
    assert_eq!(status(&output), 0);
    let rule = text(&output.stdout);
    assert!(rule.contains("rule mine [real]:\n    add(matmul(x, y), z)") || rule.contains("addmm(x, y, z)"), "{rule}");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let x = write("x.mir", "graph g(x: f32[3], y: f32[3]) { z = neg(x) return z }");
    let y = write("y.mir", "graph g(x: f32[3], y: f32[3]) { z = neg(y) return z }");
    refused(&["rules", "new", &x, &y], &["rules::no_stub", "has to use all"]);
    refused(&["rules", "new", &a, &b, "--name", "no name"], &["rules::"]);
}

#[test]
fn rules_that_explode_are_stopped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let rules = "/// Both factors grow.\nrule swells [real]:\n    \
                 mul(x, y) => mul(add(x, mul(y, sub(x, x))), add(y, mul(x, sub(y, y))))\n    \
                 where is_float(dtype(x)), shape(x) == shape(y)\n";
    let a = write("a.mir", "graph a(x: f32[8], y: f32[8]) { z = mul(relu(x), y) return z }");
    let b = write("b.mir", "graph b(x: f32[8], y: f32[8]) { z = mul(mul(add(x, abs(x)), 0.5), y) return z }");
    let output = run(&["check", &a, &b, "--rules", &write("swells.rules", rules)]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("a search ended at its limit; rule `"), "{}", text(&output.stdout));
}

/// Rules of a file with that name are applied until none fits.
#[test]
fn normal_forms_without_end_are_stopped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let rules = "/// There.\nrule turns [real]:\n    add(x, y) => sub(x, neg(y))\n    where is_float(dtype(x))\n\n\
                 /// And back.\nrule turns_back [real]:\n    sub(x, neg(y)) => add(add(x, y), sub(y, y))\n    \
                 where shape(x) == shape(y)\n";
    let a = write("a.mir", "graph a(x: f32[8], y: f32[8]) { z = mul(relu(x), y) return z }");
    let b = write("b.mir", "graph b(x: f32[8], y: f32[8]) { z = mul(mul(add(x, abs(x)), 0.5), y) return z }");
    let output = run(&["check", &a, &b, "--rules", &write("normalise.rules", rules)]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("a search ended at its limit; rule `turns"), "{}", text(&output.stdout));
}

#[test]
fn own_rules_are_tried_out_before_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let (right, wrong) = (write("right.rules", RIGHT), write("wrong.rules", WRONG));
    let output = run(&["rules", "check", &right]);
    let warnings = text(&output.stderr);
    assert_eq!(status(&output), 0, "{warnings}");
    assert!(warnings.contains("other rules prove what `my_double_negation` says"), "{warnings}");
    assert!(text(&output.stdout).contains("pass"));
    let output = run(&["rules", "check", &wrong]);
    assert_eq!((status(&output), text(&output.stdout)), (1, String::new()));
    assert!(text(&output.stderr).contains("my_mistake"), "{}", text(&output.stderr));
    let (good, _) = pair("addmm");
    refused(&["check", &good, &good, "--rules", &wrong], &["my_mistake"]);

    let a = write(
        "a.mir",
        "graph g(x: f32[3, 5], y: f32[3, 5]) { z = opaque \"mine.axpy\"(x, y; alpha=2.0) -> f32[3, 5] return z }",
    );
    let b = write("b.mir", "graph g(x: f32[3, 5], y: f32[3, 5]) { z = add(y, mul(x, 2.0)) return z }");
    assert_eq!(status(&run(&["check", &a, &b])), 1, "opaque without its rule");
    let output = run(&["check", &a, &b, "--rules", &right]);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn profiles_are_shown_fitted_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined.json").display().to_string();
    let shipped = "corpus/energy/h200.json";
    for args in [&["profile", "show"][..], &["profile", "show", shipped], &["profile", "fit"]] {
        let output = run(args);
        assert_eq!((status(&output), text(&output.stderr)), (0, String::new()), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(status(&run(&["profile", "merge", shipped, shipped, "-o", &joined])), 0);
    let output = run(&["profile", "diff", shipped, &joined]);
    assert!(text(&output.stdout).contains("0 only in the right one"), "{}", text(&output.stdout));
    assert_eq!(status(&run(&["profile", "merge", "corpus/energy/h200.windows.zip", "-o", &joined])), 0);
    let output = text(&run(&["profile", "diff", shipped, &joined]).stdout);
    let entries = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped)).unwrap();
    let entries = serde_json::from_slice::<Value>(&entries).unwrap()["entries"].as_object().unwrap().len();
    let same = format!("0 of {entries} differ; 0 stand only in the left one, 0 only in the right one");
    assert!(entries > 400 && output.contains(&same), "{output}");
    refused(&["profile", "show", "README.md"], &["README.md"]);
}

/// Reads an array of a `.npz` file: its values as floats.
fn array(file: &Path, name: &str) -> Vec<f64> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
    let file = npyz::NpyFile::new(&bytes[..]).unwrap();
    file.into_vec::<f64>().unwrap()
}

#[test]
fn a_witness_is_written_and_holds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("witness");
    let (a, b) = ("corpus/pairs/gelu.a.mir", "corpus/pairs/gelu.b-wrong-sign.mir");
    let args = ["check", a, b, "--format", "json", "--seed", "7", "--write-witness", out.to_str().unwrap()];
    let output = run(&args);
    assert_eq!(status(&output), 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let witness = &report["witness"];
    assert_eq!(witness["seed"], 7);
    let index: Vec<usize> = witness["index"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect();
    let x = array(&out.join("inputs.npz"), "x");
    let value = array(&out.join("outputs.npz"), "y.a");
    assert_eq!(value, [witness["a"].as_f64().unwrap()]);
    // The tanh form of GELU, of the element in a matrix of 24 columns.
    let at = x[index[0] * 24 + index[1]];
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (at + 0.044715 * at.powi(3));
    let expected = 0.5 * at * (1.0 + inner.tanh());
    assert!((value[0] - expected).abs() < 1e-9, "{value:?} {expected}");
}

#[test]
fn a_report_is_the_same_on_any_number_of_threads() {
    let report = |threads: &str, model: &str| {
        let mut command = binary();
        command.env("RAYON_NUM_THREADS", threads).args(["check", "--no-cache", "--format", "json"]);
        let sides = ["eager", "sdpa"].map(|side| format!("corpus/exports/{model}-{side}.pt2"));
        let output = command.args(sides).output().unwrap();
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["timing_ms"].take();
        report
    };
    for model in ["gpt2", "qwen2-4l"] {
        let on_one = report("1", model);
        for threads in ["2", "2", "7"] {
            assert!(report(threads, model) == on_one, "{model} on {threads} threads");
        }
    }
}

#[test]
fn math_flags_of_the_command_line_are_part_of_a_proof() {
    let (a, b) = pair("addmm");
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("flags.proof");
    let proof = proof.to_str().unwrap();
    let flags = ["--config-a", "allow_tf32=true"];
    assert_eq!(status(&run(&[&["check", &a, &b, "--tier", "approx", "--proof", proof], &flags[..]].concat())), 0);
    let verified = |flags: &[&str]| run(&[&["verify-proof", proof, &a, &b], flags].concat());
    let shown = text(&verified(&flags).stdout);
    assert!(shown.contains("shown: equivalent, tier approx"), "{shown}");
    assert!(text(&verified(&[]).stdout).contains("tier real"), "without the flag the two are equal at a stronger tier");
}

#[test]
fn what_earlier_runs_found_changes_no_report() {
    let cache = tempfile::tempdir().unwrap();
    let report = |extra: &[&str]| {
        let mut command = binary();
        command.env("XDG_CACHE_HOME", cache.path()).args(["check", "--format", "json"]).args(extra);
        let sides = ["eager", "sdpa"].map(|side| format!("corpus/exports/qwen2-4l-{side}.pt2"));
        let output = command.args(sides).output().unwrap();
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["timing_ms"].take();
        (report, text(&output.stderr))
    };
    let (alone, _) = report(&["--no-cache"]);
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0, "--no-cache keeps nothing");
    let (first, told) = report(&[]);
    assert!(first == alone && told.is_empty(), "{told}");
    let builds: Vec<_> = std::fs::read_dir(cache.path().join("magneton-ir")).unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(builds.len(), 1);
    let files = || std::fs::read_dir(builds[0].path()).unwrap().map(|e| e.unwrap().path());
    assert!(files().count() > 10);
    let (second, told) = report(&[]);
    assert!(second == alone && told.is_empty(), "{told}");
    for file in files() {
        let half = std::fs::metadata(&file).unwrap().len() / 2;
        std::fs::File::options().write(true).open(&file).unwrap().set_len(half).unwrap();
    }
    let (third, told) = report(&[]);
    assert!(third == alone);
    assert_eq!(told.matches("damaged").count(), 1, "{told}");
    assert_eq!(report(&[]).1, "", "what was damaged has been replaced");
}

/// A name that would set a terminal's title, colour what follows and forge a line.
const HOSTILE: &str = "ev\u{1b}]0;pwned\u{7}il\u{1b}[31m\u{9b}31m\u{7f}\u{202e}";

/// Whether a stream holds nothing that acts on a terminal.
fn is_quiet(stream: &[u8]) -> bool {
    text(stream).chars().all(|c| c == '\n' || !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c))
}

#[test]
fn control_characters_from_files_never_reach_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let broken = file(
        "broken.mir",
        format!("graph g(\"in{HOSTILE}\": f32[4,8]) {{ y = \"re{HOSTILE}lu\"(\"in{HOSTILE}\") return y }}"),
    );
    let rules = file("x.rules", format!("/// A.\nrule {HOSTILE} [real]: relu(x) => x\n"));
    let forging = format!("{HOSTILE}\nequivalent, tier exact").escape_debug().to_string();
    let named = |op: &str| {
        format!(
            "graph \"g\"(x \"x{forging}\": f32[4]) {{ y \"y{forging}\" = {op}(x) @ \"{forging}\":6 fn \"{forging}\" code \"{forging}\" return y as \"{forging}\" }}"
        )
    };
    let (a, b) = (file(&format!("a{HOSTILE}.mir"), named("relu")), file("b.mir", named("tanh")));
    let profile = file("p.json", format!("{{ \"schema\": \"{HOSTILE}\" }}"));
    let commands: [&[&str]; 16] = [
        &["check", &broken, &broken],
        &["lower", &broken],
        &["rules", "check", &rules],
        &["rules", "test", &rules],
        &["rules", "fmt", "--check", &rules],
        &["check", &a, &a, "--bind", &broken],
        &["check", &a, &b],
        &["check", &a, &b, "--format", "markdown"],
        &["check", &a, &b, "--format", "json"],
        &["check", &a, &a],
        &["explain", &a, &a, "1"],
        &["optimize", &a],
        &["lower", &a],
        &["profile", "show", &profile],
        &["check", &a, &b, "--config-a", &format!("{HOSTILE}=1")],
        &["check", &format!("--{HOSTILE}"), &format!("{HOSTILE}.mir")],
    ];
    for command in commands {
        let output = run(command);
        assert!(is_quiet(&output.stdout), "{command:?}: {:?}", text(&output.stdout));
        assert!(is_quiet(&output.stderr), "{command:?}: {:?}", text(&output.stderr));
        let forged = text(&output.stdout).lines().any(|line| line.starts_with("equivalent, tier exact"));
        assert!(!forged || command[1] == command[2], "{command:?}");
    }
    let json: Value = serde_json::from_slice(&run(&["check", &a, &b, "--format", "json"]).stdout).unwrap();
    assert_eq!(json["a"]["file"], *a);
}

#[test]
fn a_witness_has_a_member_for_every_input_whatever_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // `w` is written in parts, one of which is called as another input is.
    let graph = |op: &str| {
        format!(
            "graph g(w: f32[100000], s \"w.shape\": f32[2], u \"../up/x\": f32[2], v \"..\\\\up/x\": f32[2]) {{
                p = slice(w; dim=0, start=0, end=2)
                q = add(p, s)
                r = add(q, u)
                t = add(r, v)
                y = {op}(t)
                return y
            }}"
        )
    };
    for (name, op) in [("a.mir", "tanh"), ("b.mir", "sigmoid")] {
        std::fs::write(at(name), graph(op)).unwrap();
    }
    let output = run(&["check", &at("a.mir"), &at("b.mir"), "--write-witness", &at("out")]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("different"));
    let mut archive = zip::ZipArchive::new(std::fs::File::open(at("out/inputs.npz")).unwrap()).unwrap();
    let names: HashSet<String> =
        (0..archive.len()).map(|i| archive.by_index(i).unwrap().name().unwrap().to_lowercase()).collect();
    assert_eq!(names.len(), archive.len(), "{names:?}");
    assert_eq!(names.len(), 3 + 3, "{names:?}");
    assert!(names.iter().all(|n| !n.contains(['/', '\\'])), "{names:?}");
}

#[test]
fn a_witness_that_cannot_be_written_costs_no_verdict() {
    let a = pair("addmm").0;
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let blocked = blocked.join("under").to_str().unwrap().to_owned();
    let different = run(&["check", &a, "corpus/pairs/addmm.b-wrong-sign.mir", "--write-witness", &blocked]);
    assert_eq!(status(&different), 1);
    assert!(text(&different.stdout).starts_with("different"));
    assert!(text(&different.stderr).contains("cannot write"));
}

#[cfg(unix)]
#[test]
fn profiles_go_through_links_and_pipes_and_replace_neither() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let at = |name: &str| path(name).to_str().unwrap().to_owned();
    std::fs::copy("corpus/energy/h200.json", path("real.json")).unwrap();
    symlink("real.json", path("link.json")).unwrap();
    let before = std::fs::read_to_string(path("real.json")).unwrap();
    assert_eq!(status(&run(&["profile", "merge", "-o", &at("link.json"), &at("real.json"), &at("real.json")])), 0);
    assert!(path("link.json").is_symlink());
    let runs = |text: &str| serde_json::from_str::<Value>(text).unwrap()["runs"].as_array().unwrap().len();
    assert_eq!(runs(&std::fs::read_to_string(path("real.json")).unwrap()), runs(&before));

    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = path("pipe");
        move || std::fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(status(&run(&["profile", "merge", "-o", &at("pipe"), &at("real.json")])), 0);
    assert_eq!(runs(&reader.join().unwrap()), runs(&before));
    assert!(std::fs::metadata(path("pipe")).unwrap().file_type().is_fifo());
}

/// Tensors that no machine holds are sampled, not computed: the verdict comes in seconds and takes little memory.
#[cfg(target_os = "linux")]
#[test]
fn huge_tensors_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = [
        ("x: f32[1099511627776]", "tanh(x)", "sigmoid(x)"),
        ("x: f32[4, 1099511627776]", "softmax(x; dim=1)", "log_softmax(x; dim=1)"),
        ("x: f32[1099511627776]", "sum(x; dim=[0])", "amax(x; dim=[0])"),
        ("x: f32[1099511627776]", "cumsum(x; dim=0)", "cumprod(x; dim=0)"),
        ("x: f32[8, 17179869184], w: f32[128, 17179869184]", "linear(x, w)", "neg(linear(x, w))"),
        ("x: f32[8, 64], w: f32[17179869184, 64]", "linear(x, w)", "neg(linear(x, w))"),
        ("x: f32[17179869184], i: i64[17179869184]", "index_select(x, i; dim=0)", "neg(index_select(x, i; dim=0))"),
        ("x: f32[8, 17179869184], w: f32[8, 17179869184]", "concat(x, w; dim=1)", "concat(w, x; dim=1)"),
    ];
    for (number, (inputs, left, right)) in pairs.into_iter().enumerate() {
        let [a, b] = [("a", left), ("b", right)].map(|(side, value)| {
            let path = folder.path().join(format!("{number}{side}.mir"));
            std::fs::write(&path, format!("graph g({inputs}) {{ y = {value} return y }}")).unwrap();
            path
        });
        let binary = binary();
        let limited = "ulimit -v 6291456; exec \"$0\" check \"$1\" \"$2\" --no-cache";
        let output = Command::new("sh")
            .args(["-c", limited])
            .args([binary.get_program(), a.as_os_str(), b.as_os_str()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{left}: {}", text(&output.stderr));
    }
}

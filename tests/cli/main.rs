//! The binary as users and scripts call it: exit status, what goes to which stream, the JSON contract.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

mod contract;
mod corpus;
mod files;
mod formats;
mod hostile;
mod launch;
mod rules;

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

fn json(a: &str, b: &str) -> Value {
    let output = run(&["check", a, b, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let expected = if report["verdict"] == "equivalent" { 0 } else { 1 };
    assert_eq!(status(&output), expected, "{a} {b}");
    report
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
fn help_is_on_standard_output() {
    let output = run(&["--help"]);
    assert_eq!(status(&output), 0);
    assert!(predicate::str::contains("explain").eval(&text(&output.stdout)));
    assert_eq!(status(&run(&[])), 2);
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
fn markup_in_names_is_quoted_in_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "![i](http://host/x.png) <b> @everyone";
    let file = |name: &str, body: &str| {
        let path = folder.path().join(name);
        let text = format!("graph g(x: f32[64, 128]) {{\n y = {body}\n return y at [\"{hostile}\"]\n}}");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let a = file("a.mir", "gelu(x)");
    let others = [file("b.mir", "silu(x)"), file("c.mir", &format!("opaque \"{hostile}\"(x) -> f32[64, 128]"))];
    for b in others {
        let markdown = text(&run(&["check", "--no-cache", &a, &b, "--format", "markdown"]).stdout);
        let named: Vec<(&str, usize)> = markdown.lines().filter_map(|l| Some((l, l.find("![i]")?))).collect();
        assert!(!named.is_empty(), "{markdown}");
        for (line, at) in named {
            assert!(line[..at].matches('`').count() % 2 == 1, "{line}");
        }
    }
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
    // The one step leads from what A costs to what B costs.
    let energy = |side: &str| {
        let (_, rest) = report.split_once(&format!("{side}: energy ")).expect("both sides have a price");
        rest.split_once(" (").expect("with an interval").0.to_owned()
    };
    let step = format!("[real, {} to {}]", energy("A"), energy("B"));
    for part in ["region 1 of 1, tier real", "addmm", "proof", "1. ", &step] {
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
#[ignore = "slow: `.ci/run` runs it"]
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

//! One report in every format.

use super::*;

/// The commands that print a report, each on a small pair.
fn commands() -> [Vec<String>; 3] {
    let (a, b) = pair("attention");
    let owned = |args: &[&str]| args.iter().map(|s| (*s).to_owned()).collect();
    [owned(&["check", &a, &b]), owned(&["explain", &a, &b, "2"]), owned(&["optimize", &b])]
}

fn shown(command: &[String], more: &[&str]) -> Output {
    let mut binary = binary();
    binary.args(command).args(more);
    binary.output().unwrap()
}

#[test]
fn every_command_has_every_format_and_writes_it_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    for command in commands() {
        for format in FORMATS {
            let mut printed = text(&shown(&command, &["--format", format]).stdout);
            assert!(!printed.is_empty(), "{command:?} {format}");
            let output = shown(&command, &["--format", format, "--report", path.to_str().unwrap()]);
            assert_eq!((status(&output), text(&output.stdout)), (0, String::new()), "{}", text(&output.stderr));
            let mut written = std::fs::read_to_string(&path).unwrap();
            for report in [&mut printed, &mut written] {
                *report = without_timing(report);
            }
            assert_eq!(written, printed, "{command:?} {format}");
        }
    }
}

const FORMATS: [&str; 3] = ["human", "json", "markdown"];

/// A report without the lines that differ from run to run.
fn without_timing(report: &str) -> String {
    let timing = ["\"read\":", "\"prove\":", "\"cost\":", "\"total\":"];
    report.lines().filter(|line| !timing.iter().any(|key| line.trim_start().starts_with(key))).collect()
}

#[test]
fn a_report_that_cannot_be_written_is_trouble() {
    let (a, b) = pair("addmm");
    refused(&["check", &a, &b, "--report", "no/such/folder/report.txt"], &["no/such/folder/report.txt"]);
}

#[test]
fn the_schema_tells_what_a_json_report_is() {
    for (command, schema) in commands().iter().zip(["check", "explain", "optimize"]) {
        let report: Value = serde_json::from_slice(&shown(command, &["--format", "json"]).stdout).unwrap();
        assert_eq!(report["schema"], format!("magneton-ir/{schema}/1"));
    }
}

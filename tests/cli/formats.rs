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

const FORMATS: [&str; 4] = ["human", "json", "markdown", "html"];

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

/// The data that the script of a page draws.
fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_holds_every_operator_and_no_markup_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let name = "</script><img src=x onerror=alert(1)>";
    let file = |file: &str, op: &str| {
        let path = folder.path().join(file);
        let text = format!(
            "graph g(x \"in{name}\": f32[4]) {{ y \"out{name}\" = {op}(x) @ \"{name}\":6 code \"{name}\" return y }}"
        );
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (a, b) = (file("a.mir", "relu"), file("b.mir", "tanh"));
    let page = text(&run(&["check", &a, &b, "--format", "html"]).stdout);
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<img"), "{page}");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(data_of(&page)["a"][0][0], format!("out{name}"));

    let sides = ["eager", "sdpa"].map(|side| format!("corpus/exports/qwen2-4l-{side}.pt2"));
    let page = text(&run(&["check", &sides[0], &sides[1], "--format", "html"]).stdout);
    let (data, report) = (data_of(&page), json(&sides[0], &sides[1]));
    for side in ["a", "b"] {
        let operators = data[side].as_array().unwrap();
        assert_eq!(operators.len() as u64, report[side]["ops"].as_u64().unwrap());
        let energy: f64 = operators.iter().map(|o| o[6].as_f64().unwrap()).sum();
        let whole = report[side]["energy_mj"]["value"].as_f64().unwrap();
        assert!((energy / whole - 1.0).abs() < 1e-3, "{energy} of {whole}");
    }
}

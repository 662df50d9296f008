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

const FORMATS: [&str; 6] = ["human", "json", "markdown", "html", "sarif", "junit"];

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

fn sarif(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "sarif"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// What SARIF 2.1.0 demands of the properties that are used, and GitHub's code scanning beyond it.
fn is_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    let driver = &log["runs"][0]["tool"]["driver"];
    assert_eq!(driver["name"], "magneton-ir");
    let rules = driver["rules"].as_array().unwrap();
    for result in log["runs"][0]["results"].as_array().unwrap() {
        assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert!(result["partialFingerprints"]["magneton-ir/1"].as_str().unwrap().len() == 32);
        let (first, more) = (result["locations"].as_array().unwrap(), result["relatedLocations"].as_array().unwrap());
        assert_eq!(first.len(), 1);
        for place in first.iter().chain(more) {
            let physical = &place["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
            assert!(!uri.is_empty() && uri.bytes().all(|b| b.is_ascii_graphic() && b != b'\\'), "{uri}");
            assert!(physical.get("region").is_none_or(|r| r["startLine"].as_u64().unwrap() > 0));
        }
    }
}

#[test]
fn findings_stand_at_source_lines_in_sarif() {
    let sides = ["eager", "sdpa"].map(|side| format!("corpus/exports/gpt2-{side}.pt2"));
    let log = sarif(&["check", &sides[0], &sides[1]]);
    is_sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("modeling_gpt2.py"), "{place}");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 1);
    let (a, b) = pair("gelu");
    let wrong = "corpus/pairs/gelu.b-wrong-sign.mir";
    let kinds = |args: &[&str]| {
        let log = sarif(args);
        is_sarif(&log);
        log["runs"][0]["results"].as_array().unwrap().iter().map(|r| r["ruleId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&["check", &a, wrong])[0], "different");
    assert_eq!(kinds(&["check", &a, &b, "--tier", "exact"])[0], "unproven");
    is_sarif(&sarif(&["explain", &a, &b, "1"]));
    is_sarif(&sarif(&["optimize", &sides[0]]));
}

#[test]
fn fail_on_says_what_makes_the_exit_status_1() {
    let (a, b) = pair("addmm");
    let unknown = |more: &[&str]| status(&run(&[&["check", &a, &b, "--tier", "exact"], more].concat()));
    assert_eq!([unknown(&[]), unknown(&["--fail-on", "unknown"]), unknown(&["--fail-on", "different"])], [1, 1, 0]);
    let wrong = ["check", &a, "corpus/pairs/addmm.b-wrong-sign.mir", "--fail-on", "different"];
    assert_eq!(status(&run(&wrong)), 1);
    let (a, b) = pair("rms_norm");
    let waste = |more: &[&str]| run(&[&["check", &a, &b, "--fail-on", "waste"], more].concat());
    let of = |more: &[&str]| status(&waste(more));
    assert_eq!(
        [of(&[]), of(&["--threshold", "60%"]), of(&["--waste-of", "b"]), of(&["--waste-of", "a"])],
        [1, 0, 1, 0]
    );
    let junit = |more: &[&str]| text(&waste(&[&["--format", "junit"], more].concat()).stdout);
    assert!(junit(&[]).contains("failures=\"1\""), "{}", junit(&[]));
    assert!(junit(&["--waste-of", "a"]).contains("failures=\"0\""));
}

#[test]
fn waste_of_the_baseline_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.sarif").display().to_string();
    let (a, b) = pair("rms_norm");
    run(&["check", &a, &b, "--format", "sarif", "--report", &baseline]);
    let gated = ["check", &a, &b, "--fail-on", "waste", "--baseline", &baseline];
    assert_eq!(status(&run(&gated)), 0);
    let log = sarif(&gated);
    assert!(log["runs"][0]["results"].as_array().unwrap().iter().all(|r| r["baselineState"] == "unchanged"));
    let other = "corpus/pairs/gelu.b.mir";
    // Launched one by one, most of its energy goes into waiting, which is no operator's waste.
    let gated = ["check", "corpus/pairs/gelu.a.mir", other, "--fail-on", "waste", "--baseline", &baseline];
    assert_eq!(status(&run(&gated)), 0);
    let gated = [&gated[..], &["--launch", "graph"]].concat();
    assert_eq!(status(&run(&gated)), 1, "waste that the baseline does not name");
    refused(&["check", &a, &b, "--baseline", &a], &["rms_norm.a.mir", "no baseline"]);
    refused(&["check", &a, &b, "--baseline", "no/such.sarif"], &["no/such.sarif"]);
}

#[test]
fn a_region_is_named_by_an_operator_or_a_source_line() {
    let sides = ["eager", "sdpa"].map(|side| format!("corpus/exports/gpt2-{side}.pt2"));
    let explain = |region: &str| run(&["explain", &sides[0], &sides[1], region]);
    let report = json(&sides[0], &sides[1]);
    let attention =
        report["regions"].as_array().unwrap().iter().find(|r| r["b_ops"][0] == "scaled_dot_product_attention");
    let region = attention.unwrap();
    let by_number = text(&explain(&region["id"].to_string()).stdout);
    assert_eq!(text(&explain("scaled_dot_product_attention").stdout), by_number);
    let source = region["cause"]["a_source"].as_str().unwrap();
    let line = explain(source.rsplit('/').next().unwrap());
    assert_eq!(text(&line.stdout), by_number);
    assert!(text(&line.stderr).contains("regions are there"), "{}", text(&line.stderr));
    let [a, b] = &sides;
    refused(&["explain", a, b, "gpt2.py:211"], &["no region gpt2.py:211"]);
    refused(&["explain", a, b, "no_such_operator"], &["no region no_such_operator", "model.py:12"]);
    let full = text(&run(&["explain", a, b, "modeling_gpt2.py:581", "--full"]).stdout);
    assert!(full.lines().count() > 60 && !full.contains("--full"), "{full}");
}

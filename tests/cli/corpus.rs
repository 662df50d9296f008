//! `corpus`: cases as files, read and compared.

use super::{refused, run, status, text};

#[test]
fn cases_are_listed_and_compared() {
    let list = run(&["corpus", "list"]);
    assert_eq!(status(&list), 0);
    assert!(text(&list.stdout).contains("c16   tf-60772"), "{}", text(&list.stdout));
    let found = run(&["corpus", "run", "c16", "--format", "json"]);
    assert_eq!(status(&found), 0, "{}", text(&found.stderr));
    let report: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(report[0]["verdict"], "equivalent");
    assert_eq!(report[0]["cause"]["kind"], "less_traffic");
    assert!(report[0]["saving"].as_f64().unwrap() > 0.05);
}

#[test]
fn a_case_that_is_not_as_its_file_says_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("c1");
    std::fs::create_dir(&case).unwrap();
    let write = |name: &str, text: &str| std::fs::write(case.join(name), text).unwrap();
    let head = "id = \"c1\"\nname = \"x\"\nsystem = \"y\"\nkind = \"z\"\nstatus = \"closed\"\nfacts = \"f\"\n";
    write("a.mir", "graph a(x: f32[64, 64]) { y = relu(relu(x)) return y }");
    write("b.mir", "graph b(x: f32[64, 64]) { y = relu(x) return y }");
    let pair =
        "[[pair]]\na = \"a.mir\"\nb = \"b.mir\"\nverdict = \"equivalent\"\ntier = \"real\"\ncause = \"layout\"\n";
    write("case.toml", &format!("{head}{pair}"));
    let place = folder.path().to_str().unwrap();
    let output = run(&["corpus", "run", "--folder", place]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let out = text(&output.stdout);
    assert!(out.contains("(wrong)") && out.contains("layout wanted, fewer_kernels found"), "{out}");
    write("case.toml", &format!("{head}[[pair]]\na = 1\n"));
    refused(&["corpus", "run", "--folder", place], &["invalid type", "case.toml"]);
    write("case.toml", &format!("{head}{}", pair.replace("b.mir", "none.mir")));
    refused(&["corpus", "run", "--folder", place], &["none.mir"]);
}

#[test]
fn unknown_cases_and_folders_are_refused() {
    refused(&["corpus", "run", "c99"], &["no case `c99`", "c16"]);
    refused(&["corpus", "list", "--folder", "no-such-folder"], &["no-such-folder", "--folder"]);
    refused(&["corpus", "list", "--folder", "docs"], &["holds no case"]);
}

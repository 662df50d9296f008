//! What commands write: graphs, proofs, witnesses, profiles.

use std::collections::HashSet;

use super::*;

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
fn an_optimized_graph_is_cheaper_and_proven_equal() {
    let folder = tempfile::tempdir().unwrap();
    let better = folder.path().join("better.mir").display().to_string();
    let file = "corpus/exports/gpt2-eager.pt2";
    // What is computed once would be inputs that the file does not have.
    let output = run(&["optimize", file, "--frozen", "no", "--format", "json", "-o", &better]);
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

/// A file with precomputed tensors as inputs of their own was called `different` from its workload.
#[test]
fn what_is_computed_once_is_part_of_the_written_text() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let workload = "graph g(x: f32[64, 256], w: param f32[256, 256], s: buffer f32[256]) {
        y = linear(x, mul(w, s))
        return y
    }";
    std::fs::write(at("scaled.mir"), workload).unwrap();
    let output = run(&["optimize", &at("scaled.mir"), "--format", "json", "-o", &at("lean.mir")]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let compared = json(&at("scaled.mir"), &at("lean.mir"));
    assert_eq!(compared["verdict"], "equivalent");
    let [best, written] = [&found["best_energy_mj"], &compared["b"]["energy_mj"]].map(|e| e["value"].as_f64().unwrap());
    assert!((written / best - 1.0).abs() < 1e-6 && written < compared["a"]["energy_mj"]["value"].as_f64().unwrap());
    let assumed = compared["assumptions"].to_string();
    assert!(assumed.contains("are the same at every execution"), "{assumed}");

    let lean = std::fs::read_to_string(at("lean.mir")).unwrap();
    assert!(lean.contains("mul(w, s)") && lean.contains(" once\n"), "{lean}");
    std::fs::write(at("wrong.mir"), lean.replace("mul(w, s)", "add(w, s)")).unwrap();
    assert_eq!(json(&at("scaled.mir"), &at("wrong.mir"))["verdict"], "different");
    std::fs::write(at("changing.mir"), lean.replace("s: buffer", "s:")).unwrap();
    refused(&["check", &at("scaled.mir"), &at("changing.mir")], &["cannot be computed once"]);
}

#[test]
fn a_picture_of_time_against_energy_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let workload = pair("gelu").1;
    let output = run(&["optimize", &workload, "--max-slowdown", "5%", "--frontier", &at("frontier.svg")]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("up to 5.00 % more time than now"), "{}", text(&output.stdout));
    let svg = std::fs::read_to_string(at("frontier.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("<title>now: "), "{svg}");
    refused(&["optimize", &workload, "--max-slowdown=-5%"], &["--max-slowdown", "percentage"]);
    let both = ["optimize", &workload, "--max-slowdown", "5%", "--objective", "time"];
    refused(&both, &["--max-slowdown", "--objective", "leave one of the two out"]);
}

/// A mask that a file holds is part of the program, unless its buffers may change.
#[test]
fn a_causal_mask_in_a_buffer_becomes_the_causal_flag() {
    let folder = tempfile::tempdir().unwrap();
    let lean = folder.path().join("lean.pt2").display().to_string();
    let archive = "tests/data/weights-masked.pt2";
    let forms = |more: &[&str]| {
        let output = run(&[&["optimize", archive, "--format", "json"], more].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (found["cheaper"].to_string(), found["assumptions"].to_string())
    };
    let (cheaper, assumptions) = forms(&["-o", &lean]);
    assert!(cheaper.contains("causal=true"), "{cheaper}");
    assert!(assumptions.contains("what the file holds for the buffer `mask` is part of the program"), "{assumptions}");
    assert_eq!(json(archive, &lean)["verdict"], "equivalent");
    let (cheaper, assumptions) = forms(&["--frozen", "no"]);
    assert!(!cheaper.contains("causal=true") && !assumptions.contains("`mask` is part"), "{cheaper} {assumptions}");
}

#[test]
fn what_runs_is_written_or_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let archive = "corpus/energy/graphs/small/rms_by_hand_0.pt2";
    assert_eq!(status(&run(&["optimize", archive, "-o", &at("lean.pt2")])), 0);
    assert_eq!(json(archive, &at("lean.pt2"))["verdict"], "equivalent");
    assert_eq!(status(&run(&["optimize", archive, "-o", &at("lean.py")])), 0);
    let python = std::fs::read_to_string(at("lean.py")).unwrap();
    assert!(python.contains("def forward(") && python.contains("aten.rms_norm.default("), "{python}");

    // What is drawn is drawn in the same order.
    for name in ["random.pt2", "random.mir"] {
        assert_eq!(status(&run(&["optimize", "tests/data/random.pt2", "-o", &at(name)])), 0);
        assert_eq!(json("tests/data/random.pt2", &at(name))["verdict"], "equivalent");
    }

    // No archive to write, another format, a file that is no workload.
    let text = pair("gelu").1;
    refused(&["optimize", &text, "-o", &at("no.pt2")], &["-o FILE.py"]);
    refused(&["optimize", &text, "-o", &at("no.onnx")], &["`.mir`, `.py` or `.pt2`"]);
    refused(&["optimize", &text, "-o", &at("none/no.py")], &["no.py"]);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["lean.pt2", "lean.py", "random.mir", "random.pt2"]);
}

/// The search takes a while: what it is for has to have a place. A workload that is not there shows that nothing was read yet.
#[test]
fn places_that_cannot_be_written_are_refused_before_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (nowhere, missing) = (at("none/file.mir"), at("missing.mir"));
    for option in ["--frontier", "--report", "--write-json", "-o"] {
        for workload in [&pair("gelu").1, &missing] {
            refused(&["optimize", workload, option, &nowhere], &["cannot write", "file.mir"]);
        }
    }
    for command in [&["check", &missing, &missing][..], &["explain", &missing, &missing, "1"]] {
        for option in ["--report", "--write-json"] {
            refused(&[command, &[option, &nowhere]].concat(), &["cannot write", "file.mir"]);
            refused(&[command, &[option, &at("")]].concat(), &["cannot write"]);
        }
    }
    // A place that is fine is left as it is, whatever happens afterwards.
    refused(&["optimize", &missing, "--frontier", &at("frontier.svg")], &["missing.mir"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn names_in_a_file_never_become_code() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let hostile = r#"graph "x\nimport os"(
  "a\nimport os; os.system('echo')": f32[2],
  "import": param f32[2],
  "b\"]); import os #": buffer f32[2]
) {
  "c\rimport os": f32[2] = add("a\nimport os; os.system('echo')", "import") @ "f\nimport os":1 fn "g" code "h\u{2028}import os"
  "def": f32[2] = mul("c\rimport os", "b\"]); import os #")
  return "def" at ["k\"\nimport os"]
}"#;
    std::fs::write(at("hostile.mir"), hostile).unwrap();
    let output = run(&["optimize", &at("hostile.mir"), "-o", &at("out.py")]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let python = std::fs::read_to_string(at("out.py")).unwrap();
    let code = python.lines().filter(|line| line.trim_start().starts_with("import "));
    assert_eq!(code.collect::<Vec<_>>(), ["import torch"], "{python}");
    assert!(!python.contains(['\r', '\u{2028}']), "{python}");
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
fn a_report_is_written_as_json_beside_the_one_for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let pair = ["check", "corpus/pairs/addmm.a.mir", "corpus/pairs/addmm.b.mir"];
    let both = run(&[&pair[..], &["--write-json", path.to_str().unwrap()]].concat());
    assert_eq!(both.stdout, run(&pair).stdout);
    let without_times = |text: &[u8]| {
        let mut report: Value = serde_json::from_slice(text).unwrap();
        report["timing_ms"] = Value::Null;
        report
    };
    let printed = run(&[&pair[..], &["--format", "json"]].concat());
    assert_eq!(without_times(&std::fs::read(&path).unwrap()), without_times(&printed.stdout));
    let nowhere = run(&[&pair[..], &["--write-json", folder.path().to_str().unwrap()]].concat());
    assert_eq!(status(&nowhere), 2);
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

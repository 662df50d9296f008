//! Files that mean harm.

use super::*;

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
    let commands: [&[&str]; 19] = [
        &["check", &broken, &broken],
        &["lower", &broken],
        &["rules", "check", &rules],
        &["rules", "test", &rules],
        &["rules", "fmt", "--check", &rules],
        &["check", &a, &a, "--bind", &broken],
        &["check", &a, &b],
        &["check", &a, &b, "--format", "markdown"],
        &["check", &a, &b, "--format", "json"],
        &["check", &a, &b, "--format", "html"],
        &["check", &a, &b, "--format", "sarif"],
        &["check", &a, &b, "--format", "junit"],
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

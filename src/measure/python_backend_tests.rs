//! The backend with processes that answer as told, in place of Python.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::*;
use crate::energy::Profile;
use crate::measure::nvml::tests::Fake;
use crate::measure::{Campaign, Options, Outcome, QUICK_PROTOCOL, Summary};

const GREETING: &str = r#"{"torch": "2.5.1", "cuda": "12.4", "bus_id": null, "process": 7}"#;

/// An interpreter that says `greeting`, and runs `answer` in a shell for each request, which is `$request` there.
fn interpreter(folder: &tempfile::TempDir, greeting: &str, answer: &str) -> PathBuf {
    let path = folder.path().join("python");
    let script = format!("#!/bin/sh\nn=0\necho '{greeting}'\nwhile read -r request; do\n{answer}\ndone\n");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn backend(python: &Path, driver: Fake) -> Result<PythonBackend, MeterError> {
    let worker = Worker::start(python, "cuda:0")?;
    PythonBackend::with(python, "cuda:0", worker, Gpu::with(Arc::new(driver), 0)?)
}

fn key(text: &str) -> KernelKey {
    text.parse().unwrap()
}

#[test]
fn a_key_that_ends_the_process_is_skipped_and_the_rest_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    // Its runs wait for the host, which may scatter as much as it does on a busy machine.
    let python = interpreter(
        &folder,
        GREETING,
        r#"case "$request" in
            *aten.exp*) echo "Fatal Python error" >&2; kill -SEGV $$ ;;
            *aten.log*) echo '{"failed": "no kernel", "over": false}' ;;
            *'"run"'*) sleep 0.01; echo '{"queued_s": 0.01, "total_s": 0.01}' ;;
            *'"record"'*) echo '{"recorded": false}' ;;
            *) echo '{}' ;;
        esac"#,
    );
    let options = Options {
        profile: folder.path().join("p.json"),
        protocol: QUICK_PROTOCOL,
        known: None,
        passes: 1,
        key_budget_s: 4.0,
        budget_s: 1e9,
        date: "2026-11-25".into(),
        stop: Arc::default(),
    };
    let mut campaign = Campaign::open(backend(&python, Fake::drawing()).unwrap(), options.clone()).unwrap();
    let keys = ["neg(f32[4])", "exp(f32[4])", "log(f32[4])", "abs(f32[4])"].map(key);
    let mut outcomes = Vec::new();
    let summary = campaign.operators(&keys, &mut |p| outcomes.push((p.what.to_owned(), p.outcome.clone()))).unwrap();
    assert_eq!(summary, Summary { measured: 2, skipped: 2, ..Summary::default() });
    let reason = |at: usize| match &outcomes[at] {
        (what, Outcome::Skipped(reason)) => format!("{what}: {reason}"),
        other => panic!("{other:?}"),
    };
    assert!(reason(1).starts_with("exp(f32[4]): the Python process has ended (signal: 11"), "{}", reason(1));
    assert!(reason(1).ends_with("Fatal Python error"), "{}", reason(1));
    assert_eq!(reason(2), "log(f32[4]): no kernel");
    let profile = Profile::load(&options.profile).unwrap();
    assert_eq!((profile.device.libtorch.as_str(), profile.runs[0].backend), ("2.5.1", BackendKind::Python));
    let watts = profile.entries[&keys[0]].watts;
    assert!((450.0..550.0).contains(&watts), "{watts}");
}

#[test]
fn the_next_run_is_asked_for_early_and_counts_for_nothing_if_something_else_follows() {
    let folder = tempfile::tempdir().unwrap();
    // Counts runs.
    let python = interpreter(
        &folder,
        GREETING,
        r#"case "$request" in
            *'"run"'*) n=$((n + 1)); echo "{\"queued_s\": 0.001, \"total_s\": 0.0$n}" ;;
            *) echo '{}' ;;
        esac"#,
    );
    let mut backend = backend(&python, Fake::drawing()).unwrap();
    let mut load = backend.load(Subject::Operator(&key("neg(f32[4])")), 0).unwrap();
    let taken = [
        backend.run_on(&mut load, 5),
        backend.run_on(&mut load, 5),
        backend.run(&mut load, 5),
        backend.run_on(&mut load, 5),
        backend.run_on(&mut load, 6),
    ]
    .map(|timing| timing.unwrap().total_s);
    assert_eq!(taken, [0.01, 0.02, 0.04, 0.05, 0.07]);
}

#[test]
fn interpreters_that_cannot_measure_are_told_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let start = |greeting: &str, answer: &str| {
        Worker::start(&interpreter(&folder, greeting, answer), "cuda:0").err().map(|e| e.to_string()).unwrap()
    };
    let missing = Worker::start(&folder.path().join("nothing"), "cuda:0").err().unwrap();
    assert!(matches!(missing, WorkerError::NoPython { .. }), "{missing}");
    let text = start(r#"{"failed": "No module named torch", "over": true}"#, "");
    assert!(text.ends_with("cannot measure: No module named torch"), "{text}");
    let text = start("Hello", "");
    assert!(text.ends_with("answers `Hello`, which is no reply"), "{text}");
    std::fs::write(folder.path().join("python"), "#!/bin/sh\necho 'no such option' >&2\nexit 3\n").unwrap();
    let text = Worker::start(&folder.path().join("python"), "cuda:0").err().unwrap().to_string();
    assert!(text.ends_with("it ended (exit status: 3): no such option"), "{text}");
}

#[test]
fn a_process_that_gives_no_answer_is_waited_for_so_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start(&interpreter(&folder, GREETING, "sleep 60"), "cuda:0").unwrap();
    worker.send(&Request::Run { times: 1 }).unwrap();
    let error = worker.receive::<Done>(std::time::Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, WorkerError::Late(0)) && !error.goes_on(), "{error}");
}

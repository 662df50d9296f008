//! Campaigns on a simulated device.

use super::*;
use crate::measure::simulated::{IDLE_W, Simulated, rig};

fn options(folder: &tempfile::TempDir) -> Options {
    Options {
        profile: folder.path().join("p.json"),
        protocol: PROTOCOL,
        known: None,
        passes: 1,
        key_budget_s: 4.0,
        budget_s: 1e9,
        date: "2026-11-21".into(),
        stop: Arc::default(),
    }
}

fn keys(texts: &[&str]) -> Vec<KernelKey> {
    texts.iter().map(|t| t.parse().unwrap()).collect()
}

const THREE: [&str; 3] = ["neg(f32[4])", "exp(f32[4])", "abs(f32[4])"];

#[test]
fn what_cannot_run_is_skipped_with_its_reason_and_the_rest_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), options(&folder)).unwrap();
    let mut outcomes = Vec::new();
    let summary = campaign.operators(&keys(&THREE), &mut |p| outcomes.push((p.done, p.outcome.clone()))).unwrap();
    assert_eq!(summary, Summary { measured: 2, skipped: 1, ..Summary::default() });
    assert_eq!(outcomes[1], (2, Outcome::Skipped("needs 9 MiB, 8 MiB are free".into())));
    let entry = &campaign.profile().entries[&keys(&THREE)[0]];
    assert!((entry.energy_mj.mean / 6.0 - 1.0).abs() < 0.01 && !entry.launch_bound, "{entry:?}");
}

#[test]
fn a_lost_device_loses_no_finished_figure_and_the_next_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(Simulated { loads_left: 1, ..rig() }, options(&folder)).unwrap();
    let all = keys(&["neg(f32[4])", "abs(f32[4])"]);
    let error = campaign.operators(&all, &mut |_| ()).unwrap_err();
    assert!(matches!(error, MeasureError::Meter(MeterError::Lost(_))), "{error}");
    let first = Profile::load(&options(&folder).profile).unwrap();
    assert_eq!(first.entries.len(), 1);
    // Killed while the next line was being written.
    let windows = run_log_path(&options(&folder).profile);
    let text = std::fs::read_to_string(&windows).unwrap() + "{\"what\":\"operator\",\"key\":\"abs";
    std::fs::write(&windows, text).unwrap();
    let mut campaign = Campaign::open(rig(), options(&folder)).unwrap();
    assert_eq!(campaign.estimate(&all).0, 1);
    let summary = campaign.operators(&all, &mut |_| ()).unwrap();
    assert_eq!(summary, Summary { measured: 1, known: 1, ..Summary::default() });
    // The profile on disk follows from its windows.
    let shown = Profile::load(&options(&folder).profile).unwrap();
    assert_eq!(shown.entries.len(), 2);
    assert_eq!(RunLog::load(&windows).unwrap()[0].profile("w").unwrap(), shown);
}

#[test]
fn a_run_ends_with_its_budget_and_says_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), Options { budget_s: 15.0, ..options(&folder) }).unwrap();
    let summary = campaign.operators(&keys(&["neg(f32[4])", "abs(f32[4])"]), &mut |_| ()).unwrap();
    assert_eq!(summary, Summary { measured: 1, left: 1, ..Summary::default() });
}

#[test]
fn a_run_that_is_told_to_stop_ends_after_the_figure_it_is_at() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(&folder);
    let stop = options.stop.clone();
    let mut campaign = Campaign::open(rig(), options).unwrap();
    let all = keys(&["neg(f32[4])", "abs(f32[4])", "relu(f32[4])"]);
    let summary = campaign.operators(&all, &mut |_| stop.store(true, Ordering::Relaxed)).unwrap();
    assert_eq!(summary, Summary { measured: 1, left: 2, ..Summary::default() });
    assert!(matches!(campaign.trials(&all[0], 20).unwrap(), Outcome::Skipped(_)));
}

#[test]
fn power_at_rest_is_read_once_what_ran_before_has_passed() {
    let mut rig = rig();
    rig.run(&mut (), 100_000).unwrap();
    let watts = idle_watts(&mut rig).unwrap();
    assert!((watts / IDLE_W - 1.0).abs() < 0.01, "{watts}");
}

#[test]
fn another_process_stops_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let busy = |alone_for: usize| Simulated { alone_for: alone_for.into(), ..rig() };
    assert!(matches!(Campaign::open(busy(1), options(&folder)), Err(MeasureError::Meter(MeterError::Busy(7)))));
    let mut campaign = Campaign::open(busy(3), options(&folder)).unwrap();
    let error = campaign.operators(&keys(&["neg(f32[4])", "abs(f32[4])"]), &mut |_| ()).unwrap_err();
    assert!(matches!(error, MeasureError::Meter(MeterError::Busy(7))), "{error}");
    assert_eq!(campaign.profile().entries.len(), 1);
}

#[test]
fn clocks_held_down_by_heat_give_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let hot = Simulated { throttled: "SW_THERMAL_SLOWDOWN", ..rig() };
    let mut campaign = Campaign::open(hot, options(&folder)).unwrap();
    let summary = campaign.operators(&keys(&["neg(f32[4])"]), &mut |_| ()).unwrap();
    assert_eq!((summary.measured, summary.skipped), (0, 1));
}

#[test]
fn a_run_does_not_go_on_with_another_backend() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), options(&folder)).unwrap();
    campaign.operators(&keys(&["neg(f32[4])"]), &mut |_| ()).unwrap();
    let windows = run_log_path(&options(&folder).profile);
    let text = std::fs::read_to_string(&windows).unwrap();
    let other = text.replacen("\"idle_w\"", "\"backend\":\"python\",\"idle_w\"", 1);
    assert_ne!(other, text);
    std::fs::write(&windows, other).unwrap();
    let error = Campaign::open(rig(), options(&folder)).err().unwrap();
    assert!(error.to_string().contains("was begun with a Python process, this is libtorch"), "{error}");
}

#[test]
fn a_run_does_not_go_on_on_another_card() {
    let folder = tempfile::tempdir().unwrap();
    Campaign::open(rig(), options(&folder)).unwrap();
    let other = Campaign::open(Simulated { card: "b", ..rig() }, options(&folder));
    assert!(matches!(other, Err(MeasureError::OtherCard { .. })));
}

#[test]
fn what_an_earlier_run_knows_is_measured_again_only_to_compare_cards() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let all: Vec<KernelKey> = (0..40).map(|i| format!("neg(f32[{}])", 4 << i.min(20)).parse().unwrap()).collect();
    let mut campaign = Campaign::open(rig(), options(&first)).unwrap();
    campaign.operators(&all, &mut |_| ()).unwrap();
    let known = Some(campaign.profile().clone());
    let mut campaign = Campaign::open(Simulated { card: "b", ..rig() }, Options { known, ..options(&second) }).unwrap();
    let summary = campaign.operators(&all, &mut |_| ()).unwrap();
    assert_eq!(summary.measured, campaign.overlap().len());
    assert!(campaign.overlap().len() >= crate::energy::MIN_COMMON);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), options(&folder)).unwrap();
    let windows = run_log_path(&options(&folder).profile);
    std::fs::remove_file(&windows).unwrap();
    let error = campaign.operators(&keys(&["neg(f32[4])"]), &mut |_| ()).unwrap_err();
    assert!(matches!(error, MeasureError::RunLog(crate::measure::RunLogError::Io { .. })), "{error}");
}

#[test]
fn twenty_trials_of_a_key_against_itself_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), options(&folder)).unwrap();
    campaign.trials(&keys(&["neg(f32[4])"])[0], 20).unwrap();
    let windows = &RunLog::load(&run_log_path(&options(&folder).profile)).unwrap()[0];
    assert_eq!(windows.trials(), 20);
    assert!(campaign.profile().entries.is_empty());
}

#[test]
fn what_the_host_cannot_queue_fast_enough_is_recorded_and_the_figure_is_the_devices() {
    let slow_host = || Simulated { queueing: 2.0, ..rig() };
    let neg = &keys(&["neg(f32[4])"])[0];
    let measured = |rig: Simulated| {
        let folder = tempfile::tempdir().unwrap();
        let mut campaign = Campaign::open(rig, options(&folder)).unwrap();
        campaign.operators(std::slice::from_ref(neg), &mut |_| ()).unwrap();
        campaign.profile().entries[neg].clone()
    };
    let waiting = measured(slow_host());
    assert!(
        waiting.launch_bound && !waiting.recorded && (waiting.time_us.mean / 25.0 - 1.0).abs() < 0.01,
        "{waiting:?}"
    );
    let recorded = measured(Simulated { recordable: Some(128), ..slow_host() });
    assert!(recorded.recorded && !recorded.launch_bound, "{recorded:?}");
    assert!((recorded.time_us.mean / 10.0 - 1.0).abs() < 0.01 && (recorded.energy_mj.mean / 6.0 - 1.0).abs() < 0.01);
    // So is a short one that the host keeps up with.
    let short = measured(Simulated { recordable: Some(128), ..rig() });
    assert!(short.recorded && (short.time_us.mean / 10.0 - 1.0).abs() < 0.01, "{short:?}");
    // A record counts its executions under the power limit too.
    let capped = Simulated { recordable: Some(128), throttled: "SW_POWER_CAP", lag_s: 0.0, ..slow_host() };
    let paced = measured(capped).paced.unwrap();
    assert!((paced.time_us.mean / 10.0 - 1.0).abs() < 0.01, "{paced:?}");
}

#[test]
fn an_interruption_does_not_hide_that_the_host_is_the_slower_side() {
    for first in 0..24 {
        let entry = of_a_slow_host(Simulated { interrupted: first..first + 2, ..rig() });
        assert!(entry.launch_bound, "runs {first} and {}: {entry:?}", first + 1);
    }
}

#[test]
fn a_run_does_not_go_on_with_another_version_of_the_method() {
    let folder = tempfile::tempdir().unwrap();
    drop(Campaign::open(rig(), options(&folder)).unwrap());
    let path = run_log_path(&options(&folder).profile);
    let begun = format!("\"version\":{}", PROTOCOL.version);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(&begun), "{text}");
    std::fs::write(&path, text.replace(&begun, "\"version\":8")).unwrap();
    let error = Campaign::open(rig(), options(&folder)).err().unwrap();
    assert!(matches!(error, MeasureError::OtherMethod { begun: 8, .. }), "{error}");
}

#[test]
fn what_was_disturbed_once_is_measured_in_the_next_pass() {
    let folder = tempfile::tempdir().unwrap();
    // A second of some two, once it is warm.
    let disturbed = Simulated { interrupted: 30..40, ..rig() };
    let mut campaign = Campaign::open(disturbed, Options { passes: 3, ..options(&folder) }).unwrap();
    let neg = &keys(&["neg(f32[4])"])[0];
    let mut outcomes = Vec::new();
    let summary = campaign.operators(std::slice::from_ref(neg), &mut |p| outcomes.push(p.outcome.clone())).unwrap();
    assert!(matches!(outcomes[0], Outcome::Disturbed(_)), "{outcomes:?}");
    assert_eq!((summary.skipped, summary.measured >= 3), (1, true), "{outcomes:?}");
    assert!((campaign.profile().entries[neg].time_us.mean / 10.0 - 1.0).abs() < 0.01);
}

/// The first executions took 12 ms each, for longer than the warm-up: so none was recorded, and what takes 4 µs came out as
/// 32 µs.
#[test]
fn slow_first_executions_are_no_part_of_a_figure() {
    let entry = of_a_slow_host(Simulated { fresh: 64, ..rig() });
    assert!(entry.launch_bound && (entry.time_us.mean / 25.0 - 1.0).abs() < 0.01, "{entry:?}");
}

fn of_a_slow_host(rig: Simulated) -> Entry {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(Simulated { queueing: 2.0, ..rig }, options(&folder)).unwrap();
    let neg = &keys(&["neg(f32[4])"])[0];
    campaign.operators(std::slice::from_ref(neg), &mut |_| ()).unwrap();
    campaign.profile().entries[neg].clone()
}

#[test]
fn what_the_power_limit_holds_back_is_measured_with_pauses_too_and_without_their_energy() {
    let folder = tempfile::tempdir().unwrap();
    let capped = Simulated { throttled: "SW_POWER_CAP", lag_s: 0.0, ..rig() };
    let mut campaign = Campaign::open(capped, options(&folder)).unwrap();
    let neg = &keys(&["neg(f32[4])"])[0];
    campaign.operators(std::slice::from_ref(neg), &mut |_| ()).unwrap();
    let entry = &campaign.profile().entries[neg];
    let paced = entry.paced.as_ref().unwrap();
    assert!(entry.is_capped() && entry.windows >= PROTOCOL.capped_changes / 2, "{entry:?}");
    assert!((paced.energy_mj.mean / 6.0 - 1.0).abs() < 0.01, "{paced:?}");
    assert!((paced.time_us.mean / 10.0 - 1.0).abs() < 0.01 && (paced.watts / 600.0 - 1.0).abs() < 0.01, "{paced:?}");
    // The windows hold it too.
    let windows = &RunLog::load(&run_log_path(&options(&folder).profile)).unwrap()[0];
    assert_eq!(&windows.profile("w").unwrap(), campaign.profile());
}

#[test]
fn heat_in_the_midst_of_a_measurement_is_seen_even_if_it_passes() {
    let folder = tempfile::tempdir().unwrap();
    let hot = Simulated { spells: vec!["", "", "HW_THERMAL_SLOWDOWN", "", "", ""], ..rig() };
    let mut campaign = Campaign::open(hot, options(&folder)).unwrap();
    let summary = campaign.operators(&keys(&["neg(f32[4])"]), &mut |_| ()).unwrap();
    assert_eq!((summary.measured, summary.skipped), (0, 1));
}

#[test]
fn a_run_starts_warm_and_goes_on_at_the_same_temperature() {
    let folder = tempfile::tempdir().unwrap();
    let cold = || Simulated { warmest_c: 55.0, ..rig() };
    let campaign = Campaign::open(cold(), options(&folder)).unwrap();
    assert_eq!(campaign.working_c, 55.0);
    drop(campaign);
    let campaign = Campaign::open(Simulated { warmest_c: 70.0, ..rig() }, options(&folder)).unwrap();
    assert_eq!((campaign.working_c, campaign.rig.temperature_c.get()), (55.0, 55.0));
}

#[test]
fn operators_are_measured_in_passes_forth_and_back_and_a_figure_is_of_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let passes = |passes| Options { passes, ..options(&folder) };
    let mut campaign = Campaign::open(rig(), passes(2)).unwrap();
    let summary = campaign.operators(&keys(&THREE), &mut |_| ()).unwrap();
    assert_eq!(summary, Summary { measured: 4, skipped: 1, ..Summary::default() });
    let loaded: Vec<_> = campaign.rig.loaded.iter().map(|(op, pass)| (op.as_str(), *pass)).collect();
    assert_eq!(loaded, [("neg", 0), ("exp", 0), ("abs", 0), ("abs", 1), ("neg", 1)]);
    let neg = &keys(&THREE)[0];
    let two = campaign.profile().entries[neg].clone();
    assert_eq!(two.passes, 2);
    // One more pass goes on from there.
    let mut campaign = Campaign::open(rig(), passes(3)).unwrap();
    let summary = campaign.operators(&keys(&THREE), &mut |_| ()).unwrap();
    assert_eq!((summary.measured, summary.known), (2, 4));
    let three = &campaign.profile().entries[neg];
    assert!(three.passes == 3 && three.energy_mj.half_width() < two.energy_mj.half_width(), "{three:?}");
}

#[test]
fn where_operands_lie_in_memory_is_inside_the_interval_of_several_passes() {
    let folder = tempfile::tempdir().unwrap();
    let placed = Simulated { placement: 0.02, ..rig() };
    let mut campaign = Campaign::open(placed, Options { passes: 4, ..options(&folder) }).unwrap();
    let all: Vec<KernelKey> = (1..41).map(|i| format!("neg(f32[{i}])").parse().unwrap()).collect();
    campaign.operators(&all, &mut |_| ()).unwrap();
    let times: Vec<_> = campaign.profile().entries.values().map(|e| e.time_us).collect();
    assert!(times.iter().any(|t| t.half_width() > 0.012), "one pass is 2 % off");
    assert!(times.iter().filter(|t| t.low <= 10.0 && 10.0 <= t.high).count() >= 38, "{times:?}");
}

#[test]
fn operators_that_scatter_get_more_passes_and_the_others_none() {
    let folder = tempfile::tempdir().unwrap();
    let placed = || Simulated { placement: 0.02, ..rig() };
    let all = keys(&["neg(f32[4])", "abs(f32[4])", "relu(f32[4])"]);
    let passes_of = |folder: &tempfile::TempDir| Options { passes: 3, ..options(folder) };
    let mut campaign = Campaign::open(placed(), passes_of(&folder)).unwrap();
    let mut last = (0, 0);
    let summary = campaign.operators(&all, &mut |p| last = (p.done, p.total)).unwrap();
    let passes: Vec<u32> = campaign.profile().entries.values().map(|e| e.passes).collect();
    assert!(passes.iter().all(|n| (4..=9).contains(n)), "{passes:?}");
    assert_eq!((summary.measured, summary.left), (last.0, 0));
    assert_eq!(last.0, last.1);
    // The next run finds nothing to add.
    let mut campaign = Campaign::open(placed(), passes_of(&folder)).unwrap();
    assert_eq!(campaign.operators(&all, &mut |_| ()).unwrap().measured, 0);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::open(rig(), passes_of(&elsewhere)).unwrap();
    assert_eq!(campaign.operators(&all, &mut |_| ()).unwrap().measured, 9);
}

//! Profiles written, read, refused.

use super::*;

const ENTRY: &str = r#"{ "run": 1, "energy_mj": [2.0, 1.9, 2.1], "time_us": [5.0, 4.9, 5.1], "watts": 400.0,
    "executions": 100, "windows": 5, "temperature_c": 40, "sm_clock_mhz": 1980 }"#;

fn text(schema: &str, entries: &str) -> String {
    format!(
        r#"{{ "schema": "{schema}", "device": {{"name": "d", "driver": "1", "libtorch": "2", "cuda": "3"}}, "protocol":
        {{"version": 1, "meter": "energy_counter", "min_changes": 10, "target_half_width": 0.01, "max_changes": 20,
        "warm_up_s": 0.3, "queue_ms": 20, "rotate_mib": 256, "min_half_width": 0.01}},
        "runs": [{{"id": 1, "card": "0a1b", "date": "2026-11-21", "idle_w": 120}}], "entries": {{ {entries} }},
        "replays": {{ "whole.pt2": {ENTRY} }} }}"#
    )
}

#[test]
fn a_profile_survives_writing_and_reading() {
    let mut profile = Profile::parse("p", &text(SCHEMA, &format!(r#""neg(f32[4])": {ENTRY}"#))).unwrap();
    profile.fit();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.json");
    profile.save(&path).unwrap();
    assert_eq!(Profile::load(&path).unwrap(), profile);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the partial file is gone");
    // One line per entry.
    assert_eq!(profile.to_json().lines().filter(|l| l.contains("\"energy_mj\"")).count(), 2);
}

#[test]
fn an_empty_profile_survives_too() {
    let empty = Profile::default();
    assert_eq!(Profile::parse("p", &empty.to_json()).unwrap(), empty);
}

#[test]
fn other_formats_are_refused() {
    for schema in ["magneton-ir/profile/5", "magneton-ir/profile/7", "something else"] {
        let error = Profile::parse("p", &text(schema, r#""x": 1"#)).unwrap_err();
        assert!(matches!(error, ProfileError::Version { .. }), "{error}");
    }
}

#[test]
fn a_profile_that_cannot_be_written_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    // A folder stands where the file should go.
    let path = dir.path().join("p.json");
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(Profile::default().save(&path), Err(ProfileError::Io { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn of_two_spellings_of_a_key_the_earlier_run_counts() {
    let later = ENTRY.replace("\"run\": 1", "\"run\": 2").replace("2.0, 1.9, 2.1", "3.0, 2.9, 3.1");
    let both = format!(r#""neg(f32[2, 2])": {later}, "neg(f32[4])": {ENTRY}"#);
    let second = r#"{"id": 1, "card": "0a1b", "date": "2026-11-21", "idle_w": 120}, {"id": 2, "card": "0a1b", "date": "2026-11-21", "idle_w": 120}"#;
    let text = text(SCHEMA, &both).replace(r#"{"id": 1, "card": "0a1b", "date": "2026-11-21", "idle_w": 120}"#, second);
    let profile = Profile::parse("p", &text).unwrap();
    assert_eq!(profile.entries.len(), 1);
    assert_eq!(profile.entries.values().next().unwrap().energy_mj.mean, 2.0);
}

#[test]
fn hostile_files_give_errors() {
    let bad_number = ENTRY.replace("2.0", "-2.0");
    let outside = ENTRY.replace("2.0", "2.2");
    let huge = ENTRY.replace("2.1", "1e999");
    for entries in [
        format!(r#""nope(f32[4])": {ENTRY}"#),
        format!(r#""neg(f32[99999999999999999])": {ENTRY}"#),
        format!(r#""neg(f32[4])": {bad_number}"#),
        format!(r#""neg(f32[4])": {outside}"#),
        format!(r#""neg(f32[4])": {huge}"#),
        format!(r#""neg(f32[4])": {}"#, ENTRY.replace("\"run\": 1", "\"run\": 2")),
        r#""neg(f32[4])": {}"#.to_owned(),
        r#""neg(f32[4])": null"#.to_owned(),
    ] {
        assert!(Profile::parse("p", &text(SCHEMA, &entries)).is_err(), "{entries}");
    }
    for whole in ["", "[]", "{", "null", "{\"schema\": 3}", &"[".repeat(100_000)] {
        assert!(Profile::parse("p", whole).is_err());
    }
}

#[test]
fn the_shipped_profile_reads() {
    let profile = Profile::shipped().unwrap();
    assert_eq!(profile.device.name, "NVIDIA H200");
}

/// What a hostile or broken file may say, and what the refusal has to name.
#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let good = text(SCHEMA, &format!(r#""neg(f32[4])": {ENTRY}"#));
    Profile::parse("p", &good).unwrap();
    let run = r#"{"id": 1, "card": "0a1b", "date": "2026-11-21", "idle_w": 120}"#;
    let two = format!(r#""neg(f32[4])": {ENTRY}, "neg(f32[4])": {ENTRY}"#);
    let cases = [
        (text(SCHEMA, &two), "`neg(f32[4])` stands there twice"),
        (
            good.replace("\"replays\": {", &format!("\"replays\": {{ \"whole.pt2\": {ENTRY},")),
            "`whole.pt2` stands there twice",
        ),
        (good.replace(run, &format!("{run}, {run}")), "two runs have the number 1"),
        (good.replace("\"version\": 1", "\"version\": 99"), "version 99 of the method"),
        (good.replace("\"version\": 1", "\"version\": 0"), "version 0 of the method"),
        (good.replace("\"pace\"", "").replace("\"queue_ms\": 20", "\"queue_ms\": -1"), "`protocol`"),
        (good.replace("\"idle_w\": 120", "\"idle_w\": -5"), "`run 1`"),
        (good.replace("\"idle_w\": 120", "\"idle_w\": 1e300"), "`run 1`"),
        (good.replace("[2.0, 1.9, 2.1]", "[1e300, 1e299, 1e301]"), "`whole.pt2`"),
        (good.replacen("[2.0, 1.9, 2.1]", "[-2.0, -2.1, -1.9]", 1), "`neg(f32[4])`"),
        (good.replacen("[5.0, 4.9, 5.1]", "[0, 0, 0]", 1), "`neg(f32[4])`"),
        (good.replacen("\"watts\": 400.0", "\"watts\": 1e9", 1), "`neg(f32[4])`"),
        (good.replacen("\"temperature_c\": 40", "\"temperature_c\": 4000", 1), "`neg(f32[4])`"),
        (good.replacen("\"run\": 1", "\"run\": 7", 1), "`neg(f32[4])`"),
        (good.replacen("2.0, 1.9, 2.1", "NaN, 1, 2", 1), "line"),
        (good.replacen("2.0, 1.9, 2.1", &"[".repeat(100_000), 1), "line"),
    ];
    for (text, named) in cases {
        let error = Profile::parse("p", &text).unwrap_err().to_string();
        assert!(error.contains(named), "{named} in {error}");
    }
}

const HOST: &str = r#""host": {"execution_us": 50.0, "launching_us": 17.0, "silent_us": 9.0, "sd": 0.3,
    "waiting_w": [120.0, 100.0, 150.0], "source": "somewhere"}"#;

#[test]
fn what_launching_takes_the_host_is_optional() {
    let old = text(SCHEMA, &format!(r#""neg(f32[4])": {ENTRY}"#));
    assert_eq!(Profile::parse("p", &old).unwrap().host, None);
    let new = old.replace("\"replays\"", &format!("{HOST}, \"replays\""));
    let mut profile = Profile::parse("p", &new).unwrap();
    assert_eq!(profile.host.as_ref().unwrap().launching_us, 17.0);
    assert_eq!(Profile::parse("p", &profile.to_json()).unwrap(), profile);
    profile.fit();
    assert_eq!(Profile::parse("p", &profile.to_json()).unwrap(), profile);
    // A profile that joins another one's figures takes over what it lacks.
    let mut shipped = Profile { host: None, ..Profile::shipped().unwrap() };
    shipped.merge(Profile::shipped().unwrap()).unwrap();
    assert_eq!(shipped.host, Profile::shipped().unwrap().host);
}

#[test]
fn what_no_host_takes_is_refused() {
    let with = |from: &str, to: &str| {
        let host = HOST.replace(from, to);
        assert_ne!(host, HOST);
        text(SCHEMA, "").replace("\"replays\"", &format!("{host}, \"replays\""))
    };
    for (from, to) in [
        ("_us\": 50.0", "_us\": -50.0"),
        ("17.0", "1e300"),
        ("\"sd\": 0.3", "\"sd\": -0.3"),
        ("\"sd\": 0.3", "\"sd\": 300"),
        ("100.0, 150.0", "130.0, 150.0"),
        ("100.0, 150.0", "100.0, 1e9"),
        ("120.0, 100.0, 150.0", "0, 0, 0"),
    ] {
        let error = Profile::parse("p", &with(from, to)).unwrap_err();
        assert!(matches!(&error, ProfileError::Figures { key, .. } if key == "host"), "{from} {to}: {error}");
    }
    for (from, to) in [("9.0", "NaN"), ("\"silent_us\": 9.0,", ""), ("\"source\"", "\"sauce\""), ("[120.0", "[[120.0]")]
    {
        let error = Profile::parse("p", &with(from, to)).unwrap_err();
        assert!(matches!(error, ProfileError::Malformed { .. }), "{from} {to}: {error}");
    }
}

#[test]
fn a_run_that_is_there_already_is_not_merged_again() {
    let real = || Profile::shipped().unwrap();
    let (mut joined, runs) = (real(), real().runs.len());
    joined.merge(real()).unwrap();
    assert_eq!(joined.runs.len(), runs);
    assert_eq!(joined.entries, real().entries);
}

//! Findings as a SARIF 2.1.0 log, which code-scanning views read; and what such a log says when it serves as a baseline.

use serde_json::{Value, json};

use super::{Baseline, Finding, FindingKind, SourceLine};

/// Under which name a result's fingerprint stands.
const FINGERPRINT: &str = "magneton-ir/1";

/// The findings as a log.
pub fn sarif(findings: &[Finding]) -> String {
    let rules: Vec<Value> = FindingKind::ALL.into_iter().map(rule).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "magneton-ir",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{log:#}")
}

fn rule(kind: FindingKind) -> Value {
    json!({
        "id": kind.id(),
        "shortDescription": { "text": kind.meaning() },
        "defaultConfiguration": { "level": level(kind) },
    })
}

fn level(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Different => "error",
        FindingKind::Unproven | FindingKind::Waste => "warning",
    }
}

fn result(finding: &Finding) -> Value {
    let is_trade_off = finding.saving.is_some_and(|s| s.trade_off);
    let mut result = json!({
        "ruleId": finding.kind.id(),
        "ruleIndex": FindingKind::ALL.iter().position(|&kind| kind == finding.kind),
        "level": if is_trade_off { "note" } else { level(finding.kind) },
        "message": { "text": finding.text },
        "locations": finding.places.iter().take(1).map(location).collect::<Vec<_>>(),
        "relatedLocations": finding.places.iter().skip(1).map(location).collect::<Vec<_>>(),
        "partialFingerprints": { FINGERPRINT: finding.fingerprint },
    });
    if let Some(is_known) = finding.is_known {
        result["baselineState"] = json!(if is_known { "unchanged" } else { "new" });
    }
    if let Some(saving) = finding.saving {
        result["properties"] = json!({ "saves_mj": saving.energy_mj });
    }
    result
}

fn location(place: &SourceLine) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(&place.file) } });
    // Lines count from 1; a file that counts otherwise has no line that a viewer could show.
    if let Some(line) = place.line.filter(|&line| line > 0) {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical })
}

/// A path as a URI: relative ones stay relative to the root of the repository.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let is_drive = path.get(1..3) == Some(":/");
    let root = match () {
        () if is_drive => "file:///",
        () if path.starts_with('/') => "file://",
        () => "",
    };
    let mut out = root.to_owned();
    for (i, byte) in path.bytes().enumerate() {
        match byte {
            b':' if is_drive && i == 1 => out.push(':'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// A log that cannot serve as a baseline.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum BaselineError {
    #[error("it is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is no SARIF log of this program")]
    Other,
}

impl Baseline {
    /// The waste that a log has which [`sarif`] wrote.
    ///
    /// # Errors
    /// Text that is no JSON, or JSON that is no log of [`sarif`].
    pub fn from_sarif(text: &str) -> Result<Baseline, BaselineError> {
        let log: Value = serde_json::from_str(text)?;
        let run = log.get("runs").and_then(|runs| runs.get(0)).ok_or(BaselineError::Other)?;
        if run.pointer("/tool/driver/name") != Some(&json!("magneton-ir")) {
            return Err(BaselineError::Other);
        }
        let results = run.get("results").and_then(Value::as_array).ok_or(BaselineError::Other)?;
        let mut known = Baseline::default();
        for result in results {
            let fingerprint = result.get("partialFingerprints").and_then(|all| all.get(FINGERPRINT)?.as_str());
            let saves = result.pointer("/properties/saves_mj").and_then(Value::as_f64);
            if let (Some(fingerprint), Some(saves)) = (fingerprint, saves) {
                *known.0.entry(fingerprint.to_owned()).or_default() += saves;
            }
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::report::samples::{different, equivalent, unknown};

    #[test]
    fn paths_are_uris() {
        let shown = ["a b/model.py", "/x/é.py", "C:\\m\\.py", "a:b?#%.py"].map(uri);
        assert_eq!(shown, ["a%20b/model.py", "file:///x/%C3%A9.py", "file:///C:/m/.py", "a%3Ab%3F%23%25.py"]);
    }

    #[test]
    fn findings_stand_at_their_lines() {
        let found = [different(), unknown(), equivalent()].map(|c| c.findings());
        let all: Vec<Value> = found.iter().map(|f| serde_json::from_str(&sarif(f)).unwrap()).collect();
        insta::assert_snapshot!(format!(
            "{:#}",
            json!(all.iter().map(|log| &log["runs"][0]["results"]).collect::<Vec<_>>())
        ));
    }

    #[test]
    fn a_log_is_a_baseline_for_what_it_names_and_no_more() {
        let mut found = equivalent().findings();
        let known = Baseline::from_sarif(&sarif(&found)).unwrap();
        assert!(found.iter().all(|f| known.has(f)) && !found.is_empty());
        let saving = found[0].saving.as_mut().unwrap();
        saving.energy_mj *= 1.5;
        assert!(!known.has(&found[0]), "it has become more");
        for text in ["", "{}", "[]", "{\"runs\": []}", "{\"runs\": [{\"tool\": 1, \"results\": []}]}"] {
            assert!(Baseline::from_sarif(text).is_err(), "{text}");
        }
    }
}

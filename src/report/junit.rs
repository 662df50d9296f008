//! Findings as a JUnit report, which CI systems show as tests.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{Finding, FindingKind};
use crate::printable::one_line;

/// The findings about `subject` as a report: one test for every kind of finding that there is none of, and one for every
/// finding. One that does not count against the workloads is a skipped test.
///
/// # Errors
/// Text that cannot be written as XML.
pub fn junit(subject: &str, findings: &[Finding]) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(&*one_line(subject));
    for kind in FindingKind::ALL {
        let of_kind: Vec<&Finding> = findings.iter().filter(|f| f.kind == kind).collect();
        if of_kind.is_empty() {
            suite.add_test_case(TestCase::new(format!("nothing {}", kind.id()), TestCaseStatus::success()));
        }
        of_kind.into_iter().for_each(|finding| {
            suite.add_test_case(case(finding));
        });
    }
    let mut report = Report::new("magneton-ir");
    report.add_test_suite(suite);
    report.to_string()
}

fn case(finding: &Finding) -> TestCase {
    let mut status = match finding.fails {
        true => TestCaseStatus::non_success(NonSuccessKind::Failure),
        false => TestCaseStatus::skipped(),
    };
    status.set_type(finding.kind.id()).set_message(&finding.text);
    let Some(place) = finding.places.first() else { return TestCase::new(finding.kind.id(), status) };
    let file = one_line(&place.file);
    let line = place.line.map(|line| line.to_string());
    let at = line.as_ref().map_or_else(|| file.to_string(), |line| format!("{file}:{line}"));
    let mut case = TestCase::new(format!("{}: {at}", finding.kind.id()), status);
    case.extra.insert("file".into(), file.as_ref().into());
    if let Some(line) = line {
        case.extra.insert("line".into(), line.into());
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report as _;
    use crate::report::samples::{different, equivalent, unknown};

    #[test]
    fn findings_are_tests() {
        let all = [different(), unknown(), equivalent()].map(|c| junit("a <b> & \u{1b}\"c\"", &c.findings()).unwrap());
        insta::assert_snapshot!(all.join("\n"));
    }
}

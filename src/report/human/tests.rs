//! Snapshots of reports on hand-made comparisons, and what every report has to keep.

use super::HumanOptions;
use crate::report::samples::{different, equivalent, launched, optimization, strings, unknown};
use crate::report::{Form, Region, Rejected, Report};

fn stripped(c: &impl Report, options: &HumanOptions) -> String {
    anstream::adapter::strip_str(&c.human(options)).to_string()
}

#[test]
fn equivalent_for_a_person() {
    insta::assert_snapshot!(stripped(&equivalent(), &HumanOptions::default()));
}

#[test]
fn different_for_a_person() {
    insta::assert_snapshot!(stripped(&different(), &HumanOptions::default()));
}

#[test]
fn unknown_for_a_person() {
    insta::assert_snapshot!(stripped(&unknown(), &HumanOptions::default()));
}

#[test]
fn launched_one_by_one_for_a_person() {
    insta::assert_snapshot!(stripped(&launched(), &HumanOptions::default()));
}

#[test]
fn launched_one_by_one_as_markdown() {
    insta::assert_snapshot!(launched().markdown());
}

#[test]
fn waste_is_a_part_of_what_is_run() {
    let c = launched();
    assert_eq!((c.waste(Form::A, &[]), c.waste(Form::B, &[])), (0.055, 0.0));
}

#[test]
fn equivalent_as_markdown() {
    insta::assert_snapshot!(equivalent().markdown());
}

#[test]
fn different_as_json() {
    insta::assert_snapshot!(different().json().unwrap());
}

#[test]
fn a_step_that_was_not_accepted_is_named_with_what_to_do() {
    let mut c = unknown();
    let reason = "step 3 (`add_zeros`) is no instance of its rule".to_owned();
    c.rejected = vec![Rejected { step: Some("add_zeros".into()), reason }];
    let value: serde_json::Value = serde_json::from_str(&c.json().unwrap()).unwrap();
    assert_eq!(value["rejected"][0]["step"], "add_zeros");
    for text in [stripped(&c, &HumanOptions::default()), c.markdown()] {
        assert!(text.contains("not accepted by the checker, at step `add_zeros`: step 3"), "{text}");
        assert!(text.contains("open an issue with both files"), "{text}");
    }
}

#[test]
fn a_report_fits_a_screen() {
    let mut c = equivalent();
    let some = c.regions.clone();
    for i in 0..200 {
        for region in &some {
            let long = strings(&["a_rather_long_operator_name"; 30]);
            let mut region = Region { id: 100 + i, same_as: None, a_kinds: long.clone(), ..region.clone() };
            region.best.form = Form::Other;
            region.best.text = "a form with many words in it, ".repeat(9);
            region.cause.text = "a cause that takes a whole paragraph to tell ".repeat(9);
            region.cause.a_source = Some("a/very/long/path.py:12".repeat(12));
            c.regions.push(region);
        }
    }
    c.assumptions = (0..90).map(|i| format!("{i} {}", "a long assumption ".repeat(20))).collect();
    for width in [80, 100, 160] {
        let text = stripped(&c, &HumanOptions { width, ..HumanOptions::default() });
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} characters in\n{text}");
        assert!(text.lines().count() <= 60, "{} lines in\n{text}", text.lines().count());
    }
}

#[test]
fn repeats_are_told_once_and_counted() {
    let text = stripped(&equivalent(), &HumanOptions::default());
    assert_eq!(text.matches("sdpa  ").count(), 1, "{text}");
    assert!(text.contains("80.0 mJ"), "two regions of 40 mJ: {text}");
    assert!(text.contains("56.0 mJ, 14.6 % of A"), "{text}");
}

#[test]
fn time_against_energy_for_a_person() {
    insta::assert_snapshot!(stripped(&optimization(2), &HumanOptions::default()));
}

#[test]
fn time_against_energy_as_markdown() {
    insta::assert_snapshot!(optimization(2).markdown());
}

/// The rows of the table of the frontier.
fn rows(text: &str) -> Vec<&str> {
    let table = text.split_once("ernels of one execution").map_or("", |(_, table)| table);
    table.lines().filter(|line| line.contains(" mJ ") && line.contains(" µs ")).collect()
}

#[test]
fn the_frontier_takes_eight_lines_at_most_one_for_each_row() {
    for (trade_offs, count, last) in [(0, 0, None), (1, 3, None), (6, 8, None), (7, 8, Some(2)), (20, 8, Some(15))] {
        let mut o = optimization(trade_offs);
        for c in &mut o.trade_offs {
            c.into.extend((0..9).map(|i| format!("a_rather_long_operator_name_{i}")));
        }
        for width in [60, 100] {
            let text = stripped(&o, &HumanOptions { width, ..HumanOptions::default() });
            let table = rows(&text);
            assert_eq!(table.len(), count, "{text}");
            assert!(table.iter().all(|row| row.chars().count() <= width), "{text}");
            let units: Vec<_> = table.iter().map(|row| (row.find(" mJ"), row.find(" µs"))).collect();
            assert!(units.windows(2).all(|pair| pair[0] == pair[1]), "not aligned: {text}");
            let folded = last.map(|n| format!("and {n} forms more"));
            assert!(folded.is_none_or(|folded| table[7].ends_with(&folded)), "{text}");
        }
        let markdown = o.markdown();
        assert_eq!(rows(&markdown).len(), count, "{markdown}");
    }
}

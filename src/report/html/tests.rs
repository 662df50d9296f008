use serde_json::Value;

use super::{SCRIPT, STYLE};
use crate::report::samples::{different, equivalent, optimization, unknown};
use crate::report::{
    Chain, Comparison, Cost, Definition, Details, Explanation, Form, Operator, PlacedOperator, Report, Source, Step,
};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<!--\u{2028}";

fn operator(name: &str, kind: &str, module: &str, region: Option<usize>) -> PlacedOperator {
    let cost = Cost {
        energy_mj: Some(1.5),
        energy_range_mj: None,
        energy_source: Source::Measured,
        time_us: None,
        launches: 1,
        flops: 0.0,
        bytes: 8.0,
    };
    let operator = Operator {
        name: name.to_owned(),
        kind: kind.to_owned(),
        types: "(f32[2]) -> f32[2]".to_owned(),
        cost,
        source: Some("model.py:7 y = f(x)".to_owned()),
    };
    PlacedOperator { operator, module: module.into(), region }
}

/// A comparison with one operator on each side, all of whose texts are `text`.
fn named(mut c: Comparison, text: &str) -> Comparison {
    let step = Step {
        rule: "a_rule".to_owned(),
        tier: "real".to_owned(),
        doc: text.to_owned(),
        definitions: vec![Definition { name: "t1".to_owned(), text: text.to_owned() }],
        assumes: vec![text.to_owned()],
        before: text.to_owned(),
        after: text.to_owned(),
        before_mj: Some(2.0),
        after_mj: Some(1.0),
        reversed: false,
        whole_mj: Some(1.0),
    };
    let region = c.regions.first().cloned().into_iter();
    let explanation = |region| Explanation {
        schema: Explanation::SCHEMA,
        a_file: text.to_owned(),
        b_file: text.to_owned(),
        region,
        regions: 1,
        a: Vec::new(),
        b: Vec::new(),
        steps: vec![step.clone()],
        chain: Some(Chain { from: Form::A, from_mj: Some(2.0) }),
        cheaper: vec![step.clone()],
        cheaper_chain: None,
    };
    c.details = Some(Box::new(Details {
        a: vec![operator(text, "relu", text, Some(1))],
        b: vec![operator("y", text, "model.layers.0", None)],
        explanations: region.map(explanation).collect(),
    }));
    c.a.file = text.to_owned();
    c.profile = Some(text.to_owned());
    c.assumptions = vec![text.to_owned()];
    for region in &mut c.regions {
        region.cause.text = text.to_owned();
        region.cause.flag = Some(text.to_owned());
        region.cause.a_source = Some(text.to_owned());
        region.a_kinds = vec![text.to_owned()];
    }
    c
}

/// The page without style and script, one element a line.
fn outline(page: &str) -> String {
    let page = [STYLE, SCRIPT]
        .iter()
        .fold(page.to_owned(), |page, text| page.replace(text, "").replace(&super::digest(text), "…"));
    page.replace("><", ">\n<")
}

#[test]
fn a_small_page() {
    insta::assert_snapshot!(outline(&named(equivalent(), "a_name").html()));
}

/// The markup of every page is ours: as many elements as with harmless names, whatever the names are.
#[test]
fn names_are_no_markup() {
    let elements = |page: &str| page.matches('<').count() - SCRIPT.matches('<').count();
    for sample in [equivalent, different, unknown] {
        let [harmless, hostile] = ["a_name", HOSTILE].map(|text| named(sample(), text).html());
        assert_eq!(elements(&hostile), elements(&harmless));
        assert!(!hostile.contains("<img") && hostile.contains("&lt;img"));
    }
}

/// Operators of a file are named on the picture of its forms, too.
#[test]
fn names_are_no_markup_in_pictures() {
    let drawn = |text: &str| {
        let mut o = optimization(2);
        o.trade_offs.iter_mut().for_each(|c| c.into = vec![text.to_owned()]);
        [o.html(), o.frontier_svg()]
    };
    for (harmless, hostile) in drawn("a_name").iter().zip(drawn(HOSTILE)) {
        assert_eq!(hostile.matches('<').count(), harmless.matches('<').count());
        assert!(!hostile.contains("<img") && hostile.contains("&lt;img") && !hostile.contains('\u{2028}'));
    }
}

#[test]
fn the_data_of_the_page_says_what_the_names_are() {
    let page = named(equivalent(), HOSTILE).html();
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let shown = HOSTILE.replace('\u{2028}', "\u{fffd}");
    assert_eq!(data["a"][0][0], shown);
    assert_eq!(data["explanations"]["1"]["steps"][0][3], format!("let t1 = {shown}\n{shown}\n= {shown}"));
    assert_eq!(data["texts"][data["a"][0][4].as_u64().unwrap() as usize], shown);
}

/// Only our style and script are run, and neither can be ended early.
#[test]
fn the_policy_names_style_and_script() {
    let page = named(equivalent(), "a_name").html();
    for text in [STYLE, SCRIPT] {
        assert!(!text.contains("</"), "an element would end there");
        assert!(page.contains(&super::digest(text)) && page.contains(text));
    }
    assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
    assert!(!page.contains("unsafe-inline") && !page.contains(" style=") && !page.contains(" onclick="));
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded from elsewhere");
}

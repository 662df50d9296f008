//! The part of a comparison that the page's script draws, as compact JSON: texts once each, an operator as a row of numbers.

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::printable::one_line;
use crate::report::{Chain, Comparison, Details, Explanation, PlacedOperator, Region, Step, wording};

/// JSON that may stand inside of a `script` element.
pub(super) fn data(c: &Comparison, details: &Details) -> String {
    let mut texts = Texts::default();
    let a: Vec<Row> = details.a.iter().map(|o| row(o, &mut texts)).collect();
    let b: Vec<Row> = details.b.iter().map(|o| row(o, &mut texts)).collect();
    let first = |r: &Region| r.same_as.unwrap_or(r.id);
    let explanations: serde_json::Map<String, Value> =
        details.explanations.iter().map(|e| (e.region.id.to_string(), explanation(e))).collect();
    let regions: Vec<Value> = c.regions.iter().map(|r| json!([r.id, first(r), state(r)])).collect();
    let all = json!({
        "texts": texts.all,
        "a": a,
        "b": b,
        "regions": regions,
        "explanations": explanations,
    });
    safe(&all.to_string())
}

/// Name, kind, types, source and module as places among the texts; region (0 for none); millijoules, null if not known.
#[derive(Serialize)]
struct Row(String, usize, usize, usize, usize, usize, Option<f64>);

fn row(o: &PlacedOperator, texts: &mut Texts) -> Row {
    let PlacedOperator { operator, module, region } = o;
    Row(
        one_line(&operator.name).into_owned(),
        texts.place(&operator.kind),
        texts.place(&operator.types),
        texts.place(operator.source.as_deref().unwrap_or("")),
        texts.place(module),
        region.unwrap_or(0),
        operator.cost.energy_mj.map(short),
    )
}

/// Five significant digits.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// How the two sides of a region relate: the same operators, equal in another form, or not equal.
fn state(region: &Region) -> u8 {
    match (region.tier.as_str(), region.a_kinds == region.b_kinds) {
        ("none", _) => 2,
        (_, false) => 1,
        (_, true) => 0,
    }
}

fn explanation(e: &Explanation) -> Value {
    let r = &e.region;
    json!({
        "tier": r.tier,
        "meaning": wording::tier_meaning(&r.tier),
        "repeats": r.repeats,
        "a": format!("{}; {}", wording::energy_and_time(&r.a), wording::work(&r.a)),
        "b": format!("{}; {}", wording::energy_and_time(&r.b), wording::work(&r.b)),
        "cause": one_line(&r.cause.text),
        "parts": r.difference.as_ref().map_or(Vec::new(), |d| wording::parts(d, 1.0)),
        "made": wording::only_made(r).into_iter().chain(r.cause.switch.iter().flat_map(wording::switch)).collect::<Vec<_>>(),
        "flag": r.cause.flag.as_deref().map(one_line),
        "how": r.cause.how.as_deref().map(one_line),
        "form": r.best.energy_mj.map(|_| wording::cheapest(r, usize::MAX)),
        "best": wording::best(&r.best),
        "chain": wording::chain(e),
        "steps": steps(&e.steps, e.chain.as_ref()),
        "cheaper": steps(&e.cheaper, e.cheaper_chain.as_ref()),
    })
}

/// Rule, tier, sentence, the expressions as they are shown, assumptions.
fn steps(steps: &[Step], chain: Option<&Chain>) -> Vec<Value> {
    let step = |(at, s): (usize, &Step)| {
        let definitions = s.definitions.iter().map(|d| format!("let {} = {}\n", one_line(&d.name), one_line(&d.text)));
        let text = format!("{}{}\n= {}", definitions.collect::<String>(), one_line(&s.before), one_line(&s.after));
        let assumes: Vec<_> = s.assumes.iter().map(|text| one_line(text)).collect();
        let figures = wording::figures(steps, at, chain).map_or(String::new(), |figures| format!("{figures}: "));
        json!([s.rule, s.tier, figures + &s.doc.replace('\n', " "), text, assumes])
    };
    steps.iter().enumerate().map(step).collect()
}

/// Texts, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    places: FxHashMap<String, usize>,
}

impl Texts {
    fn place(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.all.len();
        self.all.push(one_line(text).into_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// The same JSON without signs that mean something in HTML. They stand in strings only.
fn safe(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

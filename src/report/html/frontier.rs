//! Time against energy: the workload as it is, its best form, and slower forms that take less energy.

use maud::{Markup, html};

use crate::printable::one_line;
use crate::report::{Optimization, wording};

/// Right edge of the plot.
const PLOT: f64 = 480.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 30.0;

/// Left edge of the labels.
const LABELS: f64 = PLOT + 10.0;
/// Size of letters, which are about 0.6 times as wide.
const FONT: f64 = 12.0;
/// Height of a label.
const LINE: f64 = 16.0;
/// Characters of a label. The whole text is shown where the pointer rests on a point.
const LABEL: usize = 32;
const WIDTH: f64 = LABELS + 0.6 * FONT * LABEL as f64;

/// A form of the workload: its name, microseconds and millijoules.
type Named = (String, f64, f64);

/// The workload as it is, its best form, and what it would take with slower forms, as far as known.
fn points(o: &Optimization) -> Vec<Named> {
    let forms = wording::forms(o).into_iter();
    forms.filter_map(|(name, point)| Some((one_line(&name).into_owned(), point.time_us?, point.energy_mj?))).collect()
}

/// The picture as a file of its own.
pub(crate) fn svg(o: &Optimization) -> String {
    picture(&points(o)).into_string() + "\n"
}

/// A table and a picture of the frontier; nothing where there is no choice.
pub(super) fn frontier(o: &Optimization) -> Markup {
    let rows = wording::frontier(o);
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Time against energy" }
                p { "Of the kernels of one execution. What takes more time is left out of all other figures." }
                (picture(&points(o)))
                table {
                    thead { tr { th { "energy" } th { "time" } th { "form" } } }
                    tbody {
                        @for [energy, time, form] in &rows {
                            tr { td { (energy) } td { (time) } td { (one_line(form)) } }
                        }
                    }
                }
                ul {
                    @for c in &o.trade_offs {
                        li {
                            "saves " (wording::energy(Some(c.total_mj()))) ": "
                            code { (one_line(&c.pattern)) }
                        }
                    }
                }
            }
        }
    }
}

/// Heights for labels of points at these heights: as near as may be, a line apart, and none below `bottom` as long as there is room.
fn spread(wanted: &[f64], bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&i, &j| wanted[i].total_cmp(&wanted[j]));
    let mut placed = wanted.to_vec();
    let mut least = f64::NEG_INFINITY;
    for &i in &order {
        placed[i] = placed[i].max(least);
        least = placed[i] + LINE;
    }
    let mut most = bottom;
    for &i in order.iter().rev() {
        placed[i] = placed[i].min(most);
        most = placed[i] - LINE;
    }
    placed
}

/// Labels stand in a column beside the plot, with a line to the point of each: beside their points, those of close ones overlap.
fn picture(points: &[Named]) -> Markup {
    let height = HEIGHT.max(2.0 * MARGIN + LINE * points.len() as f64);
    let most = |of: fn(&Named) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let (most_us, most_mj) = (most(|p| p.1), most(|p| p.2));
    let part = |value: f64, most: f64| if most > 0.0 { value / most } else { 0.0 };
    let x = |us: f64| MARGIN + (PLOT - 2.0 * MARGIN) * part(us, most_us);
    let y = |mj: f64| height - MARGIN - (height - 2.0 * MARGIN) * part(mj, most_mj);
    let heights: Vec<f64> = points.iter().map(|p| y(p.2)).collect();
    let labels = spread(&heights, height - MARGIN);
    let at = |value: f64| format!("{value:.1}");
    let (left, right, top, bottom) = (at(x(0.0)), at(x(most_us)), at(y(most_mj)), at(y(0.0)));
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) viewBox=(format!("0 0 {WIDTH} {height}")) font-family="sans-serif" font-size=(FONT) role="img" aria-label="time against energy" {
            line x1=(left) y1=(bottom) x2=(right) y2=(bottom) stroke="currentColor" {}
            line x1=(left) y1=(bottom) x2=(left) y2=(top) stroke="currentColor" {}
            text x=(right) y=(height - 8.0) text-anchor="end" fill="currentColor" { "time, up to " (wording::time(Some(most_us))) }
            text x=(left) y="18" fill="currentColor" { "energy, up to " (wording::energy(Some(most_mj))) }
            @for ((name, us, mj), label) in points.iter().zip(labels) {
                line x1=(at(x(*us))) y1=(at(y(*mj))) x2=(LABELS - 4.0) y2=(at(label)) stroke="currentColor" stroke-opacity="0.3" {}
                circle cx=(at(x(*us))) cy=(at(y(*mj))) r="4" fill="currentColor" {
                    title { (name) ": " (wording::time(Some(*us))) ", " (wording::energy(Some(*mj))) }
                }
                text x=(LABELS) y=(at(label + 4.0)) fill="currentColor" { (wording::shorten(name, LABEL)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;
    use crate::report::samples::optimization;

    /// Left, top, right and bottom.
    type Area = [f64; 4];

    /// Boxes of all texts of a picture, with room for wide letters.
    fn boxes(svg: &str) -> Vec<Area> {
        let text = Regex::new(r#"<text x="([^"]*)" y="([^"]*)"( text-anchor="end")?[^>]*>([^<]*)</text>"#).unwrap();
        let of = |c: regex::Captures| {
            let [x, y]: [f64; 2] = [1, 2].map(|i| c[i].parse().unwrap());
            let width = 0.6 * FONT * c[4].chars().count() as f64;
            let left = if c.get(3).is_some() { x - width } else { x };
            [left, y - 0.9 * FONT, left + width, y + 0.3 * FONT]
        };
        text.captures_iter(svg).map(of).collect()
    }

    fn overlap(a: &Area, b: &Area) -> bool {
        a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
    }

    /// Of a workload whose forms take these times and energies.
    fn drawn(forms: &[(f64, f64)]) -> String {
        let mut o = optimization(forms.len() - 1);
        for (point, &(us, mj)) in o.frontier.iter_mut().zip(forms) {
            (point.time_us, point.energy_mj) = (Some(us), Some(mj));
        }
        svg(&o)
    }

    fn texts_are_apart(svg: &str, forms: usize) {
        let boxes = boxes(svg);
        // Beside the forms: the workload as it is, and the captions of both axes.
        assert_eq!(boxes.len(), forms + 3, "{svg}");
        let size = Regex::new(r#"viewBox="0 0 (\S+) (\S+)""#).unwrap().captures(svg).unwrap();
        let [width, height]: [f64; 2] = [1, 2].map(|i| size[i].parse().unwrap());
        for (i, a) in boxes.iter().enumerate() {
            assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= width + 0.1 && a[3] <= height, "{a:?} in\n{svg}");
            assert!(boxes[..i].iter().all(|b| !overlap(a, b)), "{a:?} in\n{svg}");
        }
    }

    #[test]
    fn labels_of_one_place_are_apart() {
        for (us, mj) in [(530.0, 112.0), (530.0, 0.0), (0.0, 0.0), (1e-9, 1e12)] {
            for forms in [1, 2, 9, 40] {
                texts_are_apart(&drawn(&vec![(us, mj); forms]), forms);
            }
        }
    }

    #[test]
    fn a_label_stays_at_its_point_where_there_is_room() {
        let heights = [40.0, 100.0, 70.0];
        assert_eq!(spread(&heights, 200.0), heights);
        assert_eq!(spread(&[100.0, 100.0, 99.0], 200.0), [115.0, 131.0, 99.0]);
        assert_eq!(spread(&[200.0, 200.0, 40.0], 200.0), [184.0, 200.0, 40.0]);
    }

    proptest! {
        #[test]
        fn labels_of_any_points_are_apart(forms in prop::collection::vec((0.0..1e4f64, 0.0..1e4f64), 1..12)) {
            texts_are_apart(&drawn(&forms), forms.len());
        }
    }
}

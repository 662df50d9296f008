//! Time against energy: the workload as it is, its best form, and slower forms that take less energy.

use maud::{Markup, html};

use crate::report::{Optimization, Point, wording};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 30.0;

/// A form of the workload: its name, microseconds and millijoules.
type Named = (&'static str, f64, f64);

/// The workload as it is, its best form, and what it would take with slower forms, as far as known.
fn points(o: &Optimization) -> Vec<Named> {
    let now = Point { energy_mj: o.energy_mj.value, time_us: o.time_us, trade_offs: 0 };
    let named = std::iter::once(("now", now)).chain(o.frontier.iter().enumerate().map(|(i, &point)| match i {
        0 => ("best", point),
        _ => ("less energy for more time", point),
    }));
    named.filter_map(|(name, point)| Some((name, point.time_us?, point.energy_mj?))).collect()
}

/// The picture as a file of its own.
pub(crate) fn svg(o: &Optimization) -> String {
    picture(&points(o)).into_string() + "\n"
}

/// A table and a picture of the frontier; nothing where there is no choice.
pub(super) fn frontier(o: &Optimization) -> Markup {
    let points = points(o);
    html! {
        @if o.frontier.len() > 1 {
            section {
                h2 { "Time against energy" }
                p { "Of the kernels of one execution. What takes more time is left out of all other figures." }
                (picture(&points))
                table {
                    thead { tr { th { "form" } th { "time" } th { "energy" } } }
                    tbody {
                        @for (name, us, mj) in &points {
                            tr {
                                td { (name) }
                                td { (wording::time(Some(*us))) }
                                td { (wording::energy(Some(*mj))) }
                            }
                        }
                    }
                }
                ul {
                    @for c in &o.trade_offs {
                        li {
                            "saves " (wording::energy(Some(c.total_mj()))) ": "
                            code { (crate::printable::one_line(&c.pattern)) }
                        }
                    }
                }
            }
        }
    }
}

fn picture(points: &[Named]) -> Markup {
    let most = |of: fn(&Named) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let (most_us, most_mj) = (most(|p| p.1), most(|p| p.2));
    let part = |value: f64, most: f64| if most > 0.0 { value / most } else { 0.0 };
    let x = |us: f64| format!("{:.1}", MARGIN + (WIDTH - 2.0 * MARGIN) * part(us, most_us));
    let y = |mj: f64| format!("{:.1}", HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * part(mj, most_mj));
    let (left, bottom) = (x(0.0), y(0.0));
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label="time against energy" {
            line x1=(left) y1=(bottom) x2=(x(most_us)) y2=(bottom) stroke="currentColor" {}
            line x1=(left) y1=(bottom) x2=(left) y2=(y(most_mj)) stroke="currentColor" {}
            text x=(x(most_us)) y=(HEIGHT - 8.0) text-anchor="end" fill="currentColor" { "time, up to " (wording::time(Some(most_us))) }
            text x=(left) y="18" fill="currentColor" { "energy, up to " (wording::energy(Some(most_mj))) }
            @for (name, us, mj) in points {
                // Left of its point: the point of most time is at the right edge.
                text x=(x(*us)) y=(y(*mj)) dx="-8" dy="4" text-anchor="end" fill="currentColor" { (name) }
                circle cx=(x(*us)) cy=(y(*mj)) r="4" fill="currentColor" {
                    title { (name) ": " (wording::time(Some(*us))) ", " (wording::energy(Some(*mj))) }
                }
            }
        }
    }
}

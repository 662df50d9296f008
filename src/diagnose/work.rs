//! What one side does less of than the other, and which of it accounts for the energy that this saves.

use super::kind::CauseKind;
use super::part::Part;
use crate::energy::{Item, KernelKey, KeyOperand, LayoutClass};
use crate::ir::NodeId;
use crate::report::{Difference, PartKind, amount, time};

/// One side of a region with what its nodes are priced as.
#[derive(Clone, Copy)]
pub(crate) struct PricedPart<'a> {
    /// `A` or `B`.
    pub name: &'static str,
    pub part: Part<'a>,
    /// Of every node of the graph.
    pub items: &'a [Item],
}

/// Difference below which two counts are the same, relative to the larger one.
const SAME: f64 = 0.02;

/// The share of what is explained of a difference, and of the difference of times, from which on slow kernels are its cause.
const MOST: f64 = 0.5;

fn less(x: f64, y: f64) -> bool {
    x < y * (1.0 - SAME)
}

/// Something that the leaner side does less of.
struct Fact {
    kind: CauseKind,
    text: String,
    /// What that saves; none where energies are not known.
    mj: Option<f64>,
}

/// Why `lean` costs less than `fat`.
pub(super) fn cause(lean: PricedPart, fat: PricedPart, difference: Option<&Difference>) -> (CauseKind, String) {
    let saved = difference.map(|difference| Saved { difference, sign: if fat.name == "A" { 1.0 } else { -1.0 } });
    let facts = facts(lean, fat, saved.as_ref());
    let (of_lean, of_fat) = (lean.part.total(), fat.part.total());
    // What is not done at all is no slow kernel, however long it took.
    let does_less = less(of_lean.bytes, of_fat.bytes) && of_lean.launches < of_fat.launches;
    let slow = saved.as_ref().filter(|_| !does_less).and_then(|saved| saved.slow(&facts));
    if let Some(slow) = slow {
        return slow.cause(lean, fat);
    }
    let texts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
    // Where no energy decides, less traffic counts most.
    let decisive = facts.iter().max_by(|x, y| match (x.mj, y.mj) {
        (Some(x), Some(y)) => x.total_cmp(&y),
        _ => rank(x.kind).cmp(&rank(y.kind)),
    });
    match decisive {
        Some(fact) => (fact.kind, format!("{} needs {}", lean.name, texts.join(", "))),
        None => {
            let text = format!("{} and {} do the same work in other operators", lean.name, fat.name);
            (CauseKind::OtherImplementation, text)
        }
    }
}

fn rank(kind: CauseKind) -> u8 {
    match kind {
        CauseKind::LessTraffic => 2,
        CauseKind::LessArithmetic => 1,
        _ => 0,
    }
}

fn facts(lean: PricedPart, fat: PricedPart, saved: Option<&Saved>) -> Vec<Fact> {
    let (of_lean, of_fat) = (lean.part.total(), fat.part.total());
    let saves = |kinds: &[PartKind]| saved.map(|saved| saved.mj(kinds));
    let mut facts = Vec::new();
    if of_lean.launches < of_fat.launches {
        facts.push(Fact {
            kind: CauseKind::FewerKernels,
            text: match of_lean.launches {
                0 => format!("no kernel instead of {}", of_fat.launches),
                some => format!("{some} instead of {} kernels", of_fat.launches),
            },
            mj: saves(&[PartKind::Launches]),
        });
    }
    // Fewer bytes may cost more where they are moved by another kind of kernel: that is no reason.
    let mut add = |kind, text, mj: Option<f64>| {
        if mj.is_none_or(|mj| mj >= 0.0) {
            facts.push(Fact { kind, text, mj });
        }
    };
    if less(of_lean.bytes, of_fat.bytes) {
        let text = format!("{} less memory traffic", amount(of_fat.bytes - of_lean.bytes, "B"));
        add(CauseKind::LessTraffic, text, saves(&[PartKind::MemoryTraffic]));
    }
    if less(of_lean.flops, of_fat.flops) {
        let text = format!("{:.0} % less arithmetic", 100.0 * (1.0 - of_lean.flops / of_fat.flops));
        add(CauseKind::LessArithmetic, text, saves(&[PartKind::Arithmetic, PartKind::MathMode]));
    }
    facts
}

/// What the leaner side saves, by parts of the difference.
struct Saved<'d> {
    difference: &'d Difference,
    /// 1 where B is the leaner side.
    sign: f64,
}

/// An operator whose kernels run longer than others for the same work.
struct Slow<'d> {
    op: &'d str,
    /// How much longer.
    beyond_us: f64,
}

impl Saved<'_> {
    fn mj(&self, kinds: &[PartKind]) -> f64 {
        self.difference.parts.iter().filter(|p| kinds.contains(&p.part)).map(|p| p.mj * self.sign).sum()
    }

    fn us(&self, kind: PartKind) -> f64 {
        let parts = self.difference.parts.iter().filter(|p| p.part == kind);
        parts.map(|p| (p.a_amount - p.b_amount) * self.sign).sum()
    }

    /// The operator that is slow, if that is what costs most energy: more than anything that the leaner side does less of.
    fn slow(&self, facts: &[Fact]) -> Option<Slow<'_>> {
        let of_time = self.mj(&[PartKind::Overhead, PartKind::PowerOverTime]);
        let explained = self.difference.mj * self.sign - self.mj(&[PartKind::NotExplained]);
        let is_most = of_time > MOST * explained
            && facts.iter().all(|fact| fact.mj.is_none_or(|mj| mj < of_time))
            && self.us(PartKind::Overhead) > MOST * self.us(PartKind::PowerOverTime).max(0.0);
        let own = |p: &crate::report::Part| (p.a_amount - p.b_amount) * self.sign;
        let in_fat = |p: &crate::report::Part| if self.sign > 0.0 { p.a_amount } else { p.b_amount };
        // One that the leaner side runs faster than like kernels is not slow on the other.
        let slow = |p: &&crate::report::Part| p.part == PartKind::Overhead && in_fat(p) > 0.0 && own(p) > 0.0;
        let slow = self.difference.parts.iter().filter(slow).filter(|_| is_most);
        let slowest = slow.max_by(|x, y| own(x).total_cmp(&own(y)))?;
        Some(Slow { op: slowest.op.as_deref()?, beyond_us: in_fat(slowest) })
    }
}

impl Slow<'_> {
    fn cause(&self, lean: PricedPart, fat: PricedPart) -> (CauseKind, String) {
        let us: f64 = self.nodes(fat).map(|n| fat.part.costs[n.index()].time_us.value).sum();
        // Of an operator of a kind of its own, all of the time is beyond.
        let beyond = if self.beyond_us < us {
            format!(", {} longer than like kernels for as much work", time(Some(self.beyond_us)))
        } else {
            String::new()
        };
        let all_us = lean.part.total().time_us.value;
        let text = format!(
            "`{}` takes {} in {}{beyond}; all of {} takes {}",
            self.op,
            time(Some(us)),
            fat.name,
            lean.name,
            time(Some(all_us))
        );
        let across = [fat, lean].into_iter().find_map(|side| Some((side.name, self.across(side)?)));
        match across {
            Some((name, (operand, dim))) => {
                let text = format!(
                    "{text}. In {name} it reads {operand}, whose elements lie side by side in memory along dim {dim}, \
                     not along the last"
                );
                (CauseKind::Layout, text)
            }
            None => (CauseKind::SlowerKernel, text),
        }
    }

    /// The nodes of a side that run the operator.
    fn nodes<'p>(&'p self, side: PricedPart<'p>) -> impl Iterator<Item = NodeId> + 'p {
        side.part.nodes.iter().copied().filter(move |n| key(side, *n).is_some_and(|key| key.op == self.op))
    }

    /// An operand that the operator reads in another order than that of its dimensions, and the one along which elements lie side
    /// by side.
    fn across(&self, side: PricedPart) -> Option<(String, usize)> {
        self.nodes(side).find_map(|node| {
            let key = key(side, node)?;
            let (operand, dim) = key.operands.iter().find_map(|operand| Some((operand, across(operand)?)))?;
            let read = side.part.graph.operands(node);
            let read = read.iter().find(|&&v| *side.part.graph.ty(v) == operand.ty);
            let name = read.map_or("an operand".to_owned(), |v| format!("`{}`", side.part.graph.node(v.node).name));
            Some((name, dim))
        })
    }
}

fn key(side: PricedPart<'_>, node: NodeId) -> Option<&KernelKey> {
    match side.items.get(node.index())? {
        Item::Kernel(kernel) => Some(&kernel.key),
        _ => None,
    }
}

/// The dimension along which the elements of an operand lie side by side, if it is not the last one.
fn across(operand: &KeyOperand) -> Option<usize> {
    let shape = &operand.ty.shape;
    let fastest = match &operand.layout {
        LayoutClass::Contiguous => None,
        LayoutClass::Order(order) => order.last().copied(),
        LayoutClass::Strides(strides) => {
            let used = (0..).zip(strides).zip(shape).filter(|((_, stride), size)| **stride > 0 && **size > 1);
            used.map(|((dim, stride), _)| (*stride, dim)).min().map(|(_, dim)| dim)
        }
    };
    fastest.filter(|&dim| dim + 1 < shape.len())
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;

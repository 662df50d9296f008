//! Inputs that are bound by the values that both files hold for them.
//!
//! Two tensors with the same values are the same weight only if no other tensor could be meant: norm weights of ones and
//! biases of zeros are equal by chance. So only what fits in a single way is bound as a fact; the rest is left to guesses,
//! which may not go against the values.

use rustc_hash::FxHashMap;

use super::Expression;
use super::join::{Lists, Ways};
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Content, Contents, DType, Digest, Role, Shape, TensorType};
use crate::prove::Side;

/// An input as inputs of the other side: joined along `dim`, each transposed first where `transposed`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Making {
    parts: Vec<usize>,
    dim: usize,
    transposed: bool,
}

impl Plan {
    /// Binds inputs whose values are those of one input of the other side, of its transpose, or of several joined, and of
    /// nothing else. Values are read only where both files hold some that names leave unbound.
    pub(super) fn by_content(&mut self, of_a: &mut dyn Contents, of_b: &mut dyn Contents) {
        let [wanted_a, wanted_b] = [stored(&self.a, of_a), stored(&self.b, of_b)];
        if wanted_a.is_empty() || wanted_b.is_empty() {
            return;
        }
        let (slots_a, slots_b) = (&mut self.a, &mut self.b);
        rayon::join(|| read(slots_a, &wanted_a, of_a), || read(slots_b, &wanted_b, of_b));
        for (i, j) in self.pairs() {
            self.pair(i, j, Source::Content);
            self.same_weights = true;
        }
        for side in [Side::B, Side::A] {
            for (target, making) in self.makings(side) {
                let parts = making.parts.as_slice();
                if let Some(expression) = self.joined(side, target, parts, making.dim, making.transposed) {
                    self.derive(side, target, expression, Source::Content);
                    self.same_weights = true;
                }
            }
        }
    }

    /// Looks again at square matrices of one name: transposing leaves their type as it is. Values are read only where the
    /// files show that they hold the weights of one model, and not for matrices that have the same checksum.
    pub(super) fn turned(&mut self, of_a: &mut dyn Contents, of_b: &mut dyn Contents) {
        let mut same_weights = self.same_weights;
        let mut open = Vec::new();
        for (j, y) in self.b.iter().enumerate() {
            let Some((Meaning::Same(i), Source::Name)) = y.meaning else { continue };
            let [rows, columns] = y.input.ty.shape[..] else { continue };
            if y.input.role != Role::Parameter || !of_a.holds(i) || !of_b.holds(j) {
                continue;
            }
            match (self.a[i].checksum, y.checksum) {
                (Some(x), Some(y)) if x == y => same_weights = true,
                _ if rows == columns => open.push((i, j)),
                _ => {}
            }
        }
        for (i, j) in open.into_iter().filter(|_| same_weights) {
            let (Some(x), Some(y)) = (of_a.content(i), of_b.content(j)) else { continue };
            let turned = self.joined(Side::B, j, &[i], 0, true).filter(|_| x != y && x.transposed() == y);
            if let Some(expression) = turned {
                self.a[i].meaning = None;
                self.derive(Side::B, j, expression, Source::Content);
            }
        }
    }

    /// Finds weights under two names that hold the same values in both files, one of which is read on one side only, as where one export kept
    /// them tied and the other one did not: they are one tensor. Values are read only where checksums say so.
    pub(super) fn tied_by_content(&mut self, of_a: &mut dyn Contents) {
        let mut alike: FxHashMap<(u32, TensorType), Vec<(usize, usize)>> = FxHashMap::default();
        for (j, y) in self.b.iter().enumerate() {
            let Some((Meaning::Same(i), _)) = y.meaning else { continue };
            let x = &self.a[i];
            if let Some(checksum) = x.checksum.filter(|_| x.checksum == y.checksum && x.input.role != Role::User) {
                alike.entry((checksum, x.input.ty.clone())).or_default().push((i, j));
            }
        }
        for group in alike.into_values() {
            let [(first, _), rest @ ..] = &group[..] else { continue };
            let is_read_apart = group.iter().any(|&(i, j)| self.a[i].live != self.b[j].live);
            // Weights that were never trained are all ones or zeros.
            if !rest.is_empty() && is_read_apart && of_a.content(*first).is_some_and(|content| !content.uniform) {
                self.ties.extend(rest.iter().map(|(i, _)| (*i, *first)));
            }
        }
    }

    /// Pairs inputs whose values are the same but not theirs alone, in the order of the inputs.
    pub(super) fn alike(&mut self) {
        for j in 0..self.b.len() {
            let y = &self.b[j];
            let same = |x: &Slot| x.is_free() && x.input.role == y.input.role && x.content == y.content;
            if y.is_free()
                && y.content.is_some()
                && let Some(i) = self.a.iter().position(same)
            {
                self.pair(i, j, Source::Alike);
            }
        }
    }

    /// Whether the files hold the same values for input `target` of `side` and for `parts` of the other side joined along
    /// their first dimension, where both are known.
    pub(super) fn same_values(&self, side: Side, target: usize, parts: &[usize]) -> Option<bool> {
        let others = self.side(side.other());
        let parts: Vec<&Content> = parts.iter().map(|&i| others[i].content.as_ref()).collect::<Option<_>>()?;
        let target = self.side(side)[target].content.as_ref()?;
        Some(target.rows.iter().eq(parts.iter().flat_map(|part| &part.rows)))
    }

    /// Whether the files show that input `target` of `side` is not `parts` of the other side joined.
    pub(super) fn denies(&self, side: Side, target: usize, parts: &[usize]) -> bool {
        self.same_values(side, target, parts) == Some(false)
    }

    /// Input `target` of `side` as `parts` of the other side joined, if the types agree.
    pub(super) fn joined(
        &self,
        side: Side,
        target: usize,
        parts: &[usize],
        dim: usize,
        transposed: bool,
    ) -> Option<Expression> {
        let others = self.side(side.other());
        let typed: Vec<(usize, &TensorType)> = parts.iter().map(|&i| (i, &others[i].input.ty)).collect();
        let expression = Expression::joined(&typed, dim, transposed).ok()?;
        (*expression.ty() == self.side(side)[target].input.ty).then_some(expression)
    }

    /// Inputs of A and of B with the same values, which no other inputs can be.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let makings = self.makings(Side::B).into_iter();
        makings.filter_map(|(j, making)| making.is_whole().then(|| (making.parts[0], j))).collect()
    }

    /// The free inputs of `side` that can be made of inputs of the other side in just one way.
    fn makings(&self, side: Side) -> Vec<(usize, Making)> {
        let own = self.side(side);
        let mut holders: FxHashMap<&Content, usize> = FxHashMap::default();
        for content in own.iter().filter_map(|slot| slot.content.as_ref()) {
            *holders.entry(content).or_default() += 1;
        }
        let sources = Sources::new(self.side(side.other()));
        let making = |(i, slot): (usize, &Slot)| {
            let content = slot.content.as_ref().filter(|c| slot.is_free() && !c.uniform && holders[c] == 1)?;
            Some((i, sources.making(content)?))
        };
        own.iter().enumerate().filter_map(making).collect()
    }
}

impl Making {
    fn is_whole(&self) -> bool {
        self.parts.len() == 1 && !self.transposed
    }
}

/// Inputs that names leave unbound and whose values the file holds. What the graph does not read matters to no proof.
fn stored(slots: &[Slot], contents: &mut dyn Contents) -> Vec<usize> {
    let open = |slot: &Slot| slot.is_free() && slot.live && slot.input.role != Role::User;
    let wanted = slots.iter().enumerate().filter(|(_, slot)| open(slot));
    wanted.map(|(i, _)| i).filter(|&i| contents.holds(i)).collect()
}

fn read(slots: &mut [Slot], wanted: &[usize], contents: &mut dyn Contents) {
    for &i in wanted {
        let slot = &mut slots[i];
        slot.content = contents.content(i).filter(|content| content.ty == slot.input.ty);
    }
}

/// What tensors must share to be parts of one: element type, rank, and from rank 3 on the inner sizes. The inner size of
/// matrices needs no look, since a digest is over a whole row or column.
type TypeKey = (DType, usize, Shape);

/// Inputs that others may be made of.
struct Sources<'p> {
    /// By rows and by columns.
    lists: FxHashMap<TypeKey, [Lists<'p>; 2]>,
}

impl<'p> Sources<'p> {
    fn new(slots: &'p [Slot]) -> Sources<'p> {
        let mut kinds: FxHashMap<TypeKey, Vec<(usize, &Content)>> = FxHashMap::default();
        for (i, slot) in slots.iter().enumerate() {
            let derived = matches!(slot.meaning, Some((Meaning::Derived(_), _)));
            // A part of ones or zeros may be padding as well as a weight.
            if let Some(content) = slot.content.as_ref().filter(|c| !derived && !c.uniform) {
                kinds.entry(kind(&content.ty)).or_default().push((i, content));
            }
        }
        let by_rows = |all: &[(usize, &'p Content)]| Lists::new(all.iter().map(|&(i, c)| (i, c.rows.as_slice())));
        let by_columns = |all: &[(usize, &'p Content)]| Lists::new(all.iter().map(|&(i, c)| (i, c.columns.as_slice())));
        let lists = kinds.into_iter().map(|(kind, all)| (kind, [by_rows(&all), by_columns(&all)])).collect();
        Sources { lists }
    }

    /// How a tensor is made of these; `None` if it is not, or if there is a choice.
    fn making(&self, content: &Content) -> Option<Making> {
        let [rows, columns] = self.lists.get(&kind(&content.ty))?;
        let forms: [(&Lists, &[Digest], usize, bool); 4] = [
            (rows, &content.rows, 0, false),
            (columns, &content.columns, 1, false),
            (columns, &content.rows, 0, true),
            (rows, &content.columns, 1, true),
        ];
        let mut found: Option<Making> = None;
        for (lists, target, dim, transposed) in forms {
            let parts = match lists.ways(target) {
                Ways::None => continue,
                Ways::One(parts) => parts,
                Ways::Several => return None,
            };
            // A single tensor is the same by rows and by columns.
            let dim = if parts.len() == 1 { 0 } else { dim };
            let making = Making { parts, dim, transposed };
            if found.get_or_insert_with(|| making.clone()) != &making {
                return None;
            }
        }
        found
    }
}

fn kind(ty: &TensorType) -> TypeKey {
    let inner = if ty.rank() == 2 { Shape::new() } else { ty.shape.iter().skip(1).copied().collect() };
    (ty.dtype, ty.rank(), inner)
}

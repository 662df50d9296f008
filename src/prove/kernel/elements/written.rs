//! The elements that formulas are written down for.

use rustc_hash::FxHashMap;

use super::super::arena::TermId;
use super::form::FormId;

/// Elements that lie side by side, which are asked for together.
const CHUNK: usize = 16;

const NONE: FormId = FormId::MAX;

/// Formulas by term and place.
#[derive(Default)]
pub(super) struct Written {
    /// Where the chunk of a term stands.
    places: FxHashMap<(TermId, usize), usize>,
    chunks: Vec<[FormId; CHUNK]>,
}

impl Written {
    pub(super) fn get(&self, term: TermId, flat: usize) -> Option<FormId> {
        let chunk = &self.chunks[*self.places.get(&(term, flat / CHUNK))?];
        Some(chunk[flat % CHUNK]).filter(|&form| form != NONE)
    }

    pub(super) fn insert(&mut self, term: TermId, flat: usize, form: FormId) {
        let place = *self.places.entry((term, flat / CHUNK)).or_insert_with(|| {
            self.chunks.push([NONE; CHUNK]);
            self.chunks.len() - 1
        });
        self.chunks[place][flat % CHUNK] = form;
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.chunks.clear();
    }
}

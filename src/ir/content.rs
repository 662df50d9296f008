//! What a tensor holds, as digests: enough to tell whether one tensor is another, its transpose, or joined of several.

use std::io::{self, Read};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::{Number, TensorType};

/// The first half of the SHA-256 of some elements in their order, little-endian.
pub type Digest = [u8; 16];

/// The most rows and columns that a tensor may have to be digested; more than any vocabulary.
const MAX_DIGESTS: usize = 1 << 20;

/// How many bytes are read at a time; a row of a matrix fits.
const CHUNK: usize = MAX_DIGESTS * 8;

/// Digests of the elements of a tensor. Two tensors of one type whose rows are equal hold the same elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Content {
    /// Element type and shape.
    pub ty: TensorType,
    /// One digest per index of the first dimension, over all elements there in row-major order.
    pub rows: Vec<Digest>,
    /// One digest per column of a matrix; empty for other ranks.
    pub columns: Vec<Digest>,
    /// Whether all elements are the same: a tensor of ones or zeros says little about which tensor it is.
    pub uniform: bool,
}

/// The values of a graph's inputs where its file holds them, read when they are asked for.
pub trait Contents: Send {
    /// Whether the file holds the values of input `i`, in the order of the graph. Reads no values.
    fn holds(&mut self, input: usize) -> bool;
    /// A checksum of the values of input `i`, if one is known without reading them. Other checksums mean other values.
    fn checksum(&mut self, input: usize) -> Option<u32>;
    /// Reads the values of input `i`. `None` if there are none, if they are damaged or too many.
    fn content(&mut self, input: usize) -> Option<Content>;
    /// Whether the file tells its weights from its other constants. Some formats keep all of them in one list.
    fn tells_weights(&self) -> bool {
        true
    }
    /// Reads all elements of input `i`, in row-major order. `None` as for [`content`](Self::content), and where the format
    /// has no need of it.
    fn elements(&mut self, _input: usize) -> Option<Vec<Number>> {
        None
    }
    /// The file that should hold the values of input `i` and does not exist.
    fn missing(&mut self, _input: usize) -> Option<PathBuf> {
        None
    }
}

/// Of files that hold no values.
pub struct NoContents;

impl Contents for NoContents {
    fn holds(&mut self, _: usize) -> bool {
        false
    }

    fn checksum(&mut self, _: usize) -> Option<u32> {
        None
    }

    fn content(&mut self, _: usize) -> Option<Content> {
        None
    }
}

impl Content {
    /// How many digests a tensor of type `ty` has; `None` if it has no elements, or too many rows and columns.
    pub fn digests(ty: &TensorType) -> Option<usize> {
        let rows = ty.shape.first().copied().unwrap_or(1);
        let columns = if let [_, columns] = ty.shape[..] { columns } else { 0 };
        let count = rows.checked_add(columns)?;
        (ty.numel() > 0 && count <= MAX_DIGESTS).then_some(count)
    }

    /// Reads the elements of a tensor of type `ty` in row-major order. `None` as for [`digests`](Self::digests).
    ///
    /// # Errors
    /// As `source`, and if it ends early.
    pub fn read(ty: &TensorType, mut source: impl Read) -> io::Result<Option<Content>> {
        if Self::digests(ty).is_none() {
            return Ok(None);
        }
        let row_bytes = ty.bytes() / ty.shape.first().copied().unwrap_or(1);
        let whole_rows = CHUNK.checked_div(row_bytes).filter(|&n| n > 0).map_or(CHUNK, |n| n * row_bytes);
        let mut digester = Digester::new(ty, row_bytes);
        let mut left = ty.bytes();
        let mut buffer = vec![0; whole_rows.min(left)];
        while left > 0 {
            let bytes = buffer.len().min(left);
            let Some(chunk) = buffer.get_mut(..bytes) else { break };
            source.read_exact(chunk)?;
            digester.add(chunk);
            left -= bytes;
        }
        Ok(Some(digester.finish(ty)))
    }

    /// Stands for elements that lie in `source` in a form that is not understood: equal to what stands for the same bytes, and
    /// to nothing else.
    ///
    /// # Errors
    /// As `source`.
    pub fn unread(ty: &TensorType, mut source: impl Read) -> io::Result<Option<Content>> {
        if Self::digests(ty).is_none() {
            return Ok(None);
        }
        let mut all = Sha256::new();
        io::copy(&mut source, &mut all)?;
        let all = all.finalize();
        let part = |kind: u8, at: usize| {
            let mut hash = Sha256::new();
            hash.update(all);
            hash.update([kind]);
            hash.update(at.to_le_bytes());
            digest(hash.finalize().as_slice())
        };
        let columns = if let [_, columns] = ty.shape[..] { columns } else { 0 };
        Ok(Some(Content {
            ty: ty.clone(),
            rows: (0..ty.shape.first().copied().unwrap_or(1)).map(|i| part(0, i)).collect(),
            columns: (0..columns).map(|i| part(1, i)).collect(),
            uniform: false,
        }))
    }

    /// The same elements as the transposed matrix.
    pub fn transposed(mut self) -> Content {
        if self.ty.rank() == 2 {
            self.ty.shape.reverse();
            std::mem::swap(&mut self.rows, &mut self.columns);
        }
        self
    }
}

struct Digester {
    element: usize,
    row_bytes: usize,
    row: Sha256,
    /// Bytes of the current row so far.
    filled: usize,
    rows: Vec<Digest>,
    columns: Vec<Sha256>,
    first: Option<Vec<u8>>,
    uniform: bool,
}

impl Digester {
    fn new(ty: &TensorType, row_bytes: usize) -> Digester {
        let columns = if let [_, columns] = ty.shape[..] { columns } else { 0 };
        Digester {
            element: ty.dtype.bytes(),
            row_bytes,
            row: Sha256::new(),
            filled: 0,
            rows: Vec::new(),
            columns: vec![Sha256::new(); columns],
            first: None,
            uniform: true,
        }
    }

    /// Takes the next elements; of a matrix, whole rows.
    fn add(&mut self, chunk: &[u8]) {
        let first = self.first.get_or_insert_with(|| chunk.iter().take(self.element).copied().collect());
        self.uniform = self.uniform && chunk.chunks_exact(self.element).all(|e| e == first.as_slice());
        let mut left = chunk;
        while !left.is_empty() {
            let (part, rest) = left.split_at(left.len().min(self.row_bytes - self.filled));
            self.row.update(part);
            self.filled += part.len();
            if self.filled == self.row_bytes {
                self.rows.push(digest(self.row.finalize_reset().as_slice()));
                self.filled = 0;
            }
            left = rest;
        }
        if !self.columns.is_empty() {
            self.add_to_columns(chunk);
        }
    }

    /// Some rows at a time, so that memory is read in order and the hash function gets whole blocks.
    fn add_to_columns(&mut self, rows: &[u8]) {
        const BLOCK: usize = 64;
        let size = self.element;
        for band in rows.chunks(self.row_bytes * (BLOCK / size)) {
            for (at, column) in self.columns.iter_mut().enumerate() {
                let mut block = [0_u8; BLOCK];
                let mut filled = 0;
                for (row, place) in band.chunks_exact(self.row_bytes).zip(block.chunks_exact_mut(size)) {
                    place.copy_from_slice(&row[at * size..(at + 1) * size]);
                    filled += size;
                }
                column.update(&block[..filled]);
            }
        }
    }

    fn finish(self, ty: &TensorType) -> Content {
        let columns = self.columns.into_iter().map(|hash| digest(hash.finalize().as_slice())).collect();
        Content { ty: ty.clone(), rows: self.rows, columns, uniform: self.uniform }
    }
}

fn digest(hash: &[u8]) -> Digest {
    let mut half = Digest::default();
    half.iter_mut().zip(hash).for_each(|(to, &from)| *to = from);
    half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::{DType, Shape};

    fn matrix(rows: usize, data: &[u16]) -> Content {
        let ty = TensorType::new(DType::I16, Shape::from_slice(&[rows, data.len() / rows])).unwrap();
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        Content::read(&ty, bytes.as_slice()).unwrap().unwrap()
    }

    fn transposed(rows: usize, data: &[u16]) -> Vec<u16> {
        let columns = data.len() / rows;
        (0..data.len()).map(|i| data[(i % rows) * columns + i / rows]).collect()
    }

    /// A matrix by its number of rows and its elements.
    fn matrices() -> impl Strategy<Value = (usize, Vec<u16>)> {
        (1..70_usize, 1..40_usize)
            .prop_flat_map(|(rows, columns)| (Just(rows), proptest::collection::vec(any::<u16>(), rows * columns)))
    }

    proptest! {
        #[test]
        fn columns_are_the_rows_of_the_transpose((rows, data) in matrices()) {
            let turned = transposed(rows, &data);
            let (content, other) = (matrix(rows, &data), matrix(data.len() / rows, &turned));
            prop_assert_eq!(&content.columns, &other.rows);
            prop_assert_eq!(&content.rows, &other.columns);
            prop_assert_eq!(content.transposed(), other);
        }

        #[test]
        fn rows_lie_one_after_another((rows, data) in matrices(), at in any::<prop::sample::Index>()) {
            let cut = at.index(rows + 1);
            let columns = data.len() / rows;
            let (upper, lower) = data.split_at(cut * columns);
            let part = |data: &[u16]| {
                if data.is_empty() { Vec::new() } else { matrix(data.len() / columns, data).rows }
            };
            prop_assert_eq!([part(upper), part(lower)].concat(), matrix(rows, &data).rows);
        }

        #[test]
        fn other_elements_have_other_digests((rows, data) in matrices(), at in any::<prop::sample::Index>()) {
            let mut changed = data.clone();
            let i = at.index(data.len());
            changed[i] ^= 1;
            let (content, other) = (matrix(rows, &data), matrix(rows, &changed));
            let parted = |x: &[Digest], y: &[Digest]| x.iter().zip(y).filter(|(x, y)| x != y).count();
            prop_assert_eq!(parted(&content.rows, &other.rows), 1);
            prop_assert_eq!(parted(&content.columns, &other.columns), 1);
        }
    }

    #[test]
    fn a_source_that_ends_early_is_an_error() {
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[2, 3])).unwrap();
        assert!(Content::read(&ty, [0_u8; 23].as_slice()).is_err());
        assert!(Content::read(&ty, [0_u8; 24].as_slice()).unwrap().is_some());
    }

    #[test]
    fn what_has_no_elements_or_too_many_rows_has_no_content() {
        for sizes in [&[0, 3][..], &[3, 0], &[MAX_DIGESTS + 1], &[4, MAX_DIGESTS]] {
            let ty = TensorType::new(DType::U8, Shape::from_slice(sizes)).unwrap();
            assert_eq!(Content::read(&ty, io::repeat(1)).unwrap(), None, "{ty}");
        }
    }

    #[test]
    fn ranks_other_than_two_have_rows_only() {
        let content = |sizes: &[usize], bytes: &[u8]| {
            let ty = TensorType::new(DType::U8, Shape::from_slice(sizes)).unwrap();
            Content::read(&ty, bytes).unwrap().unwrap()
        };
        let scalar = content(&[], &[7]);
        assert_eq!((scalar.rows.len(), scalar.columns.len(), scalar.uniform), (1, 0, true));
        let vector = content(&[3], &[7, 8, 7]);
        assert_eq!((vector.rows[0], vector.uniform), (vector.rows[2], false));
        let cube = content(&[2, 2, 2], &[1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!((cube.rows.len(), cube.rows[0], cube.columns.len()), (2, cube.rows[1], 0));
    }

    #[test]
    fn rows_larger_than_a_chunk_are_digested_in_parts() {
        let ty = TensorType::new(DType::U8, Shape::from_slice(&[2, 1, CHUNK + 5])).unwrap();
        let content = Content::read(&ty, io::repeat(3)).unwrap().unwrap();
        assert_eq!(content.rows[0], content.rows[1]);
        let mut whole = Sha256::new();
        whole.update(vec![3; CHUNK + 5]);
        assert_eq!(content.rows[0], digest(whole.finalize().as_slice()));
    }
}

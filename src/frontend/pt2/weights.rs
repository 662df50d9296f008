//! Values of parameters and buffers, read when they are asked for.

use std::io::{self, Read, Seek};

use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::constants::{extent, gather, is_little_endian};
use super::dtype;
use super::schema::{Payload, PayloadConfig};
use crate::elements;
use crate::ir::{Content, Contents, Layout, Number, TensorType};

/// What a file calls the values of an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stored {
    pub folder: Folder,
    pub name: String,
}

/// A folder that holds values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Folder {
    /// Parameters, and buffers that are saved with them.
    Weights,
    /// Other buffers, and lifted constants.
    Constants,
}

impl Folder {
    const ALL: [Folder; 2] = [Folder::Weights, Folder::Constants];

    /// The folder, and the member that describes what lies there.
    fn members(self) -> (&'static str, &'static str) {
        match self {
            Folder::Weights => ("data/weights/", "model_weights_config.json"),
            Folder::Constants => ("data/constants/", "model_constants_config.json"),
        }
    }
}

/// The most digests of one archive; those of a 100B model stay below.
const MAX_DIGESTS: usize = 1 << 24;

/// The most bytes of a storage of which a tensor takes elements that do not lie one after another.
const MAX_GATHERED: u64 = 256 << 20;

/// Where values are stored, by what the file calls them: the member and its description.
type Payloads = FxHashMap<Stored, (String, Payload)>;

/// An archive that may hold the values of its graph's inputs.
pub struct Weights<R> {
    archive: Archive<R>,
    /// The folder that the whole archive stands in, with its slash.
    root: String,
    /// Per input of the graph: what the archive calls its values.
    names: Vec<Option<Stored>>,
    /// Read on first use.
    payloads: Option<Payloads>,
    digests_left: usize,
    bytes_left: u64,
}

/// Where the elements of a tensor lie.
struct Located {
    member: String,
    ty: TensorType,
    order: Order,
    /// The checksum of the member, if the tensor is all of it.
    crc32: Option<u32>,
}

/// How elements lie in a member.
enum Order {
    /// One after another in row-major order, from this byte on.
    Rows(u64),
    /// As those of the transposed matrix in that order.
    Columns(u64),
    /// Somehow, and up to this byte.
    Strided(Layout, u64),
    /// In a form that is not read.
    Pickled(u64),
}

impl<R: Read + Seek> Weights<R> {
    pub(super) fn new(archive: Archive<R>, model: &str, names: Vec<Option<Stored>>) -> Self {
        let root = model.split_once("models/").map_or("", |(root, _)| root).to_owned();
        // Members may overlap, and many names may stand for one member: honest archives stay far below.
        let bytes_left = archive.length().saturating_mul(16).saturating_add(256 << 20);
        Weights { archive, root, names, payloads: None, digests_left: MAX_DIGESTS, bytes_left }
    }

    fn payloads(&mut self) -> &Payloads {
        self.payloads.get_or_insert_with(|| payloads(&mut self.archive, &self.root))
    }

    /// The name of another tensor whose elements lie among those of `of`.
    pub(super) fn shares_memory(&mut self, of: &Stored) -> Option<String> {
        let range = |payload: &Payload| {
            let meta = payload.tensor_meta.as_ref().filter(|_| !payload.use_pickle)?;
            let (ty, layout) = (dtype::tensor_type(meta).ok()?, dtype::layout(meta)?);
            Some((layout.offset as u64).checked_mul(ty.dtype.bytes() as u64)?..extent(&ty, &layout)?)
        };
        let (member, payload) = self.payloads().get(of)?.clone();
        let own = range(&payload)?;
        // Exports from the meta device hold no data, and all of it in one place.
        if self.archive.member(&member)?.size == 0 {
            return None;
        }
        let overlaps = |payload: &Payload| range(payload).is_some_and(|r| r.start < own.end && own.start < r.end);
        let others = self.payloads().iter().filter(|(stored, (place, _))| *stored != of && *place == member);
        others.filter(|(_, (_, payload))| overlaps(payload)).map(|(stored, _)| stored.name.clone()).min()
    }

    /// What the archive says of input `i`, if it holds its values.
    fn locate(&mut self, input: usize) -> Option<Located> {
        let stored = self.names.get(input)?.clone()?;
        let (member, payload) = self.payloads().get(&stored)?;
        let meta = payload.tensor_meta.as_ref()?;
        let (member, pickled) = (member.clone(), payload.use_pickle);
        let (ty, layout) = (dtype::tensor_type(meta).ok()?, dtype::layout(meta));
        let stored = self.archive.member(&member)?;
        if ty.numel() == 0 {
            return None;
        }
        if pickled {
            return Some(Located { member, ty, order: Order::Pickled(stored.size), crc32: None });
        }
        let layout = layout?;
        let end = extent(&ty, &layout)?;
        // Exports from the meta device hold no data.
        if end > stored.size {
            return None;
        }
        let start = layout.offset.checked_mul(ty.dtype.bytes())? as u64;
        let all = start == 0 && end == stored.size;
        let mut turned = layout.clone();
        turned.strides.reverse();
        let shape: Vec<usize> = ty.shape.iter().rev().copied().collect();
        let (order, crc32) = if layout.is_contiguous(&ty.shape) {
            (Order::Rows(start), all.then_some(stored.crc32))
        } else if ty.rank() == 2 && turned.is_contiguous(&shape) {
            (Order::Columns(start), None)
        } else {
            (Order::Strided(layout, end), None)
        };
        Some(Located { member, ty, order, crc32 })
    }

    /// Reads the elements from `source`, the member that holds them.
    fn read(located: &Located, mut source: impl Read) -> Option<Content> {
        let Located { ty, order, .. } = located;
        let content = match order {
            Order::Rows(start) | Order::Columns(start) => {
                let skipped = io::copy(&mut source.by_ref().take(*start), &mut io::sink()).ok()?;
                let mut lying = ty.clone();
                if let Order::Columns(_) = order {
                    lying.shape.reverse();
                }
                let content = Content::read(&lying, source.by_ref()).ok().flatten().filter(|_| skipped == *start)?;
                if let Order::Columns(_) = order { content.transposed() } else { content }
            }
            Order::Strided(layout, end) => {
                let mut storage = Vec::new();
                source.by_ref().take(*end).read_to_end(&mut storage).ok()?;
                let elements = gather(ty, layout, &storage)?;
                Content::read(ty, elements.as_slice()).ok().flatten()?
            }
            Order::Pickled(size) => Content::unread(ty, source.by_ref().take(*size)).ok().flatten()?,
        };
        // At the end of the member the checksum is compared; a tensor that lies before it goes without.
        io::copy(&mut source.take(1), &mut io::sink()).ok()?;
        Some(content)
    }
}

impl<R: Read + Seek + Send> Contents for Weights<R> {
    fn holds(&mut self, input: usize) -> bool {
        self.locate(input).is_some()
    }

    fn checksum(&mut self, input: usize) -> Option<u32> {
        // Writers that compute none leave 0.
        self.locate(input)?.crc32.filter(|&checksum| checksum != 0)
    }

    fn content(&mut self, input: usize) -> Option<Content> {
        let located = self.locate(input)?;
        let (bytes, limit) = match located.order {
            Order::Rows(start) | Order::Columns(start) => (start.checked_add(located.ty.bytes() as u64)?, u64::MAX),
            Order::Strided(_, end) => (end.checked_add(located.ty.bytes() as u64)?, MAX_GATHERED),
            Order::Pickled(size) => (size, u64::MAX),
        };
        let digests = self.digests_left.checked_sub(Content::digests(&located.ty)?)?;
        let bytes = self.bytes_left.checked_sub(bytes).filter(|_| bytes <= limit)?;
        (self.digests_left, self.bytes_left) = (digests, bytes);
        Self::read(&located, self.archive.stream(&located.member)?)
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        let located = self.locate(input)?;
        let bytes = located.ty.bytes() as u64;
        let mut storage = Vec::new();
        let source = self.archive.stream(&located.member)?;
        let elements = match &located.order {
            Order::Rows(start) => {
                let end = start.checked_add(bytes).filter(|&end| end <= MAX_GATHERED)?;
                source.take(end).read_to_end(&mut storage).ok()?;
                storage.split_off(usize::try_from(*start).ok().filter(|&s| s <= storage.len())?)
            }
            Order::Strided(layout, end) if *end <= MAX_GATHERED => {
                source.take(*end).read_to_end(&mut storage).ok()?;
                gather(&located.ty, layout, &storage)?
            }
            Order::Columns(_) | Order::Strided(..) | Order::Pickled(_) => return None,
        };
        elements::elements(located.ty.dtype, &elements).filter(|all| all.len() == located.ty.numel())
    }
}

/// Everything that the archive describes. What cannot be read is left out: the graph is complete without.
fn payloads<R: Read + Seek>(archive: &mut Archive<R>, root: &str) -> Payloads {
    let mut all = FxHashMap::default();
    if !is_little_endian(archive, root).unwrap_or(false) {
        return all;
    }
    for folder in Folder::ALL {
        let (path, config) = folder.members();
        let member = format!("{root}{path}{config}");
        let json = if archive.has(&member) { archive.read(&member).ok() } else { None };
        let config = json.and_then(|json| serde_json::from_slice::<PayloadConfig>(&json).ok());
        for (name, payload) in config.into_iter().flat_map(|c| c.config) {
            all.insert(Stored { folder, name }, (format!("{root}{path}{}", payload.path_name), payload));
        }
    }
    all
}

//! Values of parameters and buffers, read when they are asked for.

use std::io::{self, Read, Seek};

use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::constants::is_little_endian;
use super::dtype;
use super::schema::{Payload, PayloadConfig};
use crate::ir::{Content, Contents, TensorType};

/// The folders that hold values, and the member of each that describes them.
const FOLDERS: [(&str, &str); 2] =
    [("data/weights/", "model_weights_config.json"), ("data/constants/", "model_constants_config.json")];

/// The most digests of one archive; those of a 100B model stay below.
const MAX_DIGESTS: usize = 1 << 24;

/// An archive that may hold the values of its graph's inputs.
pub struct Weights<R> {
    archive: Archive<R>,
    /// The folder that the whole archive stands in, with its slash.
    root: String,
    /// Per input of the graph: what the archive calls its values.
    names: Vec<Option<String>>,
    /// By name: the member and its description. Read on first use.
    payloads: Option<FxHashMap<String, (String, Payload)>>,
    digests_left: usize,
    bytes_left: u64,
}

/// Where the elements of a tensor lie: one after another from byte `start` of `member`.
struct Located {
    member: String,
    /// The tensor as it lies there in row-major order.
    ty: TensorType,
    start: u64,
    /// Whether that is the transpose of what the name stands for.
    transposed: bool,
    /// The checksum of the member, if the tensor is all of it.
    crc32: Option<u32>,
}

impl<R: Read + Seek> Weights<R> {
    pub(super) fn new(archive: Archive<R>, model: &str, names: Vec<Option<String>>) -> Self {
        let root = model.split_once("models/").map_or("", |(root, _)| root).to_owned();
        // Members may overlap, and many names may stand for one member: honest archives stay far below.
        let bytes_left = archive.length().saturating_mul(16).saturating_add(256 << 20);
        Weights { archive, root, names, payloads: None, digests_left: MAX_DIGESTS, bytes_left }
    }

    /// What the archive says of input `i`, if it is stored as plain bytes.
    fn locate(&mut self, input: usize) -> Option<Located> {
        let name = self.names.get(input)?.as_ref()?;
        let payloads = match &mut self.payloads {
            Some(known) => known,
            unread => unread.insert(payloads(&mut self.archive, &self.root)),
        };
        let (member, payload) = payloads.get(name)?;
        let meta = payload.tensor_meta.as_ref().filter(|_| !payload.use_pickle)?;
        let mut ty = dtype::tensor_type(meta).ok()?;
        let mut layout = dtype::layout(meta)?;
        let transposed = ty.rank() == 2 && !layout.is_contiguous(&ty.shape);
        if transposed {
            ty.shape.reverse();
            layout.strides.reverse();
        }
        let start = layout.offset.checked_mul(ty.dtype.bytes())? as u64;
        let end = start.checked_add(ty.bytes() as u64)?;
        let stored = self.archive.member(member)?;
        // Exports from the meta device hold no data.
        let whole = layout.is_contiguous(&ty.shape) && end <= stored.size && ty.numel() > 0;
        let crc32 = (start == 0 && end == stored.size && !transposed).then_some(stored.crc32);
        whole.then(|| Located { member: member.clone(), ty, start, transposed, crc32 })
    }
}

impl<R: Read + Seek + Send> Contents for Weights<R> {
    fn holds(&mut self, input: usize) -> bool {
        self.locate(input).is_some()
    }

    fn checksum(&mut self, input: usize) -> Option<u32> {
        self.locate(input)?.crc32
    }

    fn content(&mut self, input: usize) -> Option<Content> {
        let Located { member, ty, start, transposed, .. } = self.locate(input)?;
        let digests = self.digests_left.checked_sub(Content::digests(&ty)?)?;
        let bytes = self.bytes_left.checked_sub(start.checked_add(ty.bytes() as u64)?)?;
        (self.digests_left, self.bytes_left) = (digests, bytes);
        let mut source = self.archive.stream(&member)?;
        let skipped = io::copy(&mut source.by_ref().take(start), &mut io::sink()).ok()?;
        let content = Content::read(&ty, source.by_ref()).ok().flatten().filter(|_| skipped == start)?;
        // At the end of the member the checksum is compared; a tensor that lies before it goes without.
        io::copy(&mut source.take(1), &mut io::sink()).ok()?;
        Some(if transposed { content.transposed() } else { content })
    }
}

/// Everything that the archive describes. What cannot be read is left out: the graph is complete without.
fn payloads<R: Read + Seek>(archive: &mut Archive<R>, root: &str) -> FxHashMap<String, (String, Payload)> {
    let mut all = FxHashMap::default();
    if !is_little_endian(archive, root).unwrap_or(false) {
        return all;
    }
    for (folder, config) in FOLDERS {
        let member = format!("{root}{folder}{config}");
        let json = if archive.has(&member) { archive.read(&member).ok() } else { None };
        let config = json.and_then(|json| serde_json::from_slice::<PayloadConfig>(&json).ok());
        for (name, payload) in config.into_iter().flat_map(|c| c.config) {
            all.entry(name).or_insert_with(|| (format!("{root}{folder}{}", payload.path_name), payload));
        }
    }
    all
}

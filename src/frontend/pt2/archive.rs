//! The zip archive: finds the model and reads members with limits on size.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::frontend::LoadError;

/// The most members an archive may have.
const MAX_MEMBERS: usize = 1 << 16;

/// The most bytes a member that is read may have. The graph of a 405B model takes 15 MB.
const MAX_MEMBER_BYTES: u64 = 256 << 20;

/// Members above this size may not be packed more tightly than [`MAX_RATIO`].
const RATIO_FREE_BYTES: u64 = 16 << 20;

/// Real graphs pack at up to 60 : 1; a zip bomb packs at about 1000 : 1.
const MAX_RATIO: u64 = 250;

/// What older versions of PyTorch call the graph.
const OLD_MODEL: &str = "serialized_exported_program.json";

const EXPORT_HELP: &str =
    "export the model with `torch.export.save(torch.export.export(model, inputs), \"model.pt2\")`";

/// An open archive.
pub(super) struct Archive<R> {
    path: PathBuf,
    /// In bytes.
    length: u64,
    zip: ZipArchive<R>,
}

/// What the archive's directory says of a member.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Bytes unpacked.
    pub size: u64,
    pub crc32: u32,
}

impl<R: Read + Seek> Archive<R> {
    pub(super) fn open(path: &Path, mut source: R) -> Result<Self, LoadError> {
        let io = |source| LoadError::Io { file: path.to_owned(), source };
        let length = source.seek(SeekFrom::End(0)).map_err(io)?;
        source.rewind().map_err(io)?;
        // Offsets count from the start of the file, as PyTorch reads them. Guessing what may stand in front of the archive takes
        // the zip64 records behind a directory for it where an entry happens to be as long as they are.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipArchive::with_config(config, source).map_err(|e| match e {
            ZipError::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
                LoadError::Io { file: path.to_owned(), source }
            }
            e => refusal(path, format!("is not a whole zip archive: {e}"), "the file may be cut off or damaged"),
        })?;
        if zip.len() > MAX_MEMBERS {
            return Err(refusal(
                path,
                format!("has {} members, at most {MAX_MEMBERS} are read", zip.len()),
                EXPORT_HELP,
            ));
        }
        Ok(Archive { path: path.to_owned(), length, zip })
    }

    /// The name of the member that holds the graph.
    pub(super) fn model(&self) -> Result<String, LoadError> {
        let in_models = |name: &str| under_one_root(name).and_then(|n| n.strip_prefix("models/").map(str::to_owned));
        let is_graph = |name: &str| {
            in_models(name).is_some_and(|file| !file.contains('/') && file.ends_with(".json"))
                || under_one_root(name) == Some(OLD_MODEL)
        };
        // A name that is no text cannot be the one that is looked for.
        let names = self.zip.file_names().flatten().filter(|name| is_graph(name));
        let graphs: Vec<String> = names.map(Cow::into_owned).collect();
        let named_model = graphs.iter().filter(|name| in_models(name).as_deref() == Some("model.json"));
        match (named_model.collect::<Vec<_>>().as_slice(), graphs.as_slice()) {
            ([one], _) => Ok((*one).clone()),
            ([], [one]) => Ok(one.clone()),
            (_, []) => Err(refusal(&self.path, "holds no `models/model.json`", EXPORT_HELP)),
            (_, several) => {
                let mut names = several.to_vec();
                names.sort_unstable();
                names.truncate(8);
                let reason = format!("holds more than one model: `{}`", names.join("`, `"));
                Err(refusal(&self.path, reason, "save one model per file"))
            }
        }
    }

    /// The length of the archive in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether a member of that name exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// The number of bytes that member `name` declares; `None` if there is no such member.
    pub(super) fn declared_size(&mut self, name: &str) -> Option<u64> {
        self.zip.by_name(name).ok().map(|member| member.size())
    }

    /// What the directory says of member `name`; `None` if there is none, or if it is packed as only hostile files are.
    pub(super) fn member(&mut self, name: &str) -> Option<Member> {
        let member = self.zip.by_name(name).ok()?;
        let (size, packed) = (member.size(), member.compressed_size());
        (!is_too_tight(size, packed)).then_some(Member { size, crc32: member.crc32() })
    }

    /// The names of all members, in the order of the directory. A name that is no text is left out.
    pub(super) fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(Cow::into_owned).collect()
    }

    /// How member `name` is packed.
    pub(super) fn packing(&mut self, name: &str) -> Option<CompressionMethod> {
        self.zip.by_name(name).ok().map(|member| member.compression())
    }

    /// The bytes of member `name` one after another. Reading to the end compares the checksum.
    pub(super) fn stream(&mut self, name: &str) -> Option<impl Read> {
        self.zip.by_name(name).ok()
    }

    /// The bytes of member `name`.
    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>, LoadError> {
        let path = &self.path;
        let damaged = |e: &dyn std::fmt::Display| {
            refusal(path, format!("cannot read `{name}`: {e}"), "the file may be cut off or damaged")
        };
        let member = self.zip.by_name(name).map_err(|e| damaged(&e))?;
        let declared = member.size();
        let too_large = |bytes: u64| {
            let reason = format!("`{name}` takes {bytes} bytes unpacked, at most {MAX_MEMBER_BYTES} are read");
            refusal(path, reason, "no graph needs that much")
        };
        if declared > MAX_MEMBER_BYTES {
            return Err(too_large(declared));
        }
        if is_too_tight(declared, member.compressed_size()) {
            let reason = format!("`{name}` unpacks {} bytes to {declared}", member.compressed_size());
            return Err(refusal(path, reason, "no graph packs that tightly; the archive looks made to exhaust memory"));
        }
        let mut bytes = Vec::new();
        // The declared size is the archive's word only: stop reading just above it.
        member.take(declared + 1).read_to_end(&mut bytes).map_err(|e| damaged(&e))?;
        if bytes.len() as u64 != declared {
            return Err(damaged(&format!("it declares {declared} bytes and holds another number")));
        }
        Ok(bytes)
    }
}

fn is_too_tight(size: u64, packed: u64) -> bool {
    size > RATIO_FREE_BYTES && size / packed.max(1) > MAX_RATIO
}

/// `name` without the folder that the whole archive may stand in.
fn under_one_root(name: &str) -> Option<&str> {
    if name == OLD_MODEL || name.starts_with("models/") {
        return Some(name);
    }
    name.split_once('/').map(|(_, rest)| rest)
}

fn refusal(path: &Path, reason: impl Into<String>, help: &str) -> LoadError {
    LoadError::Archive { file: path.to_owned(), reason: reason.into(), help: help.to_owned() }
}

//! Writing files: every file that the program gives to its user goes through here.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file. A regular file is replaced at once: whoever reads meanwhile, and whatever goes wrong, there is the old text or
/// the new one. A link stays, and what it leads to is written. Devices and pipes are written to, never replaced.
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(path)?;
    draft.file().write_all(text)?;
    draft.publish()
}

/// Whether a file can be made at this place. What stands there stays as it is.
///
/// # Errors
/// Why not.
pub(crate) fn can_be_written(path: &Path) -> io::Result<()> {
    Draft::new(path).map(drop)
}

/// A file that is not there yet: it is written in peace, and looked at, and then takes its place at once. Let go of, it leaves
/// nothing behind.
pub(crate) struct Draft {
    target: PathBuf,
    text: NamedTempFile,
    place: Destination,
}

/// What stands where a file is to be written.
enum Destination {
    /// Nothing, or a file with these permissions.
    Replaced(Option<fs::Permissions>),
    /// A device or a pipe.
    WrittenTo,
}

impl Draft {
    /// A draft of the file at `path`.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let target = followed(path)?;
        match fs::metadata(&target) {
            Ok(found) if found.is_dir() => Err(io::Error::from(ErrorKind::IsADirectory)),
            Ok(found) if !found.is_file() => {
                Ok(Draft { target, text: NamedTempFile::new()?, place: Destination::WrittenTo })
            }
            Ok(found) => Draft::beside(target, Some(found.permissions())),
            Err(e) if e.kind() == ErrorKind::NotFound => Draft::beside(target, None),
            Err(e) => Err(e),
        }
    }

    fn beside(target: PathBuf, permissions: Option<fs::Permissions>) -> io::Result<Self> {
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if permissions.as_ref().is_some_and(fs::Permissions::readonly) {
            return Err(io::Error::from(ErrorKind::PermissionDenied));
        }
        // The system's own words where there is no such folder.
        fs::metadata(folder)?;
        let mut builder = tempfile::Builder::new();
        // A new file gets the permissions that the process gives to new files.
        #[cfg(unix)]
        let readable: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        #[cfg(unix)]
        builder.permissions(readable);
        let text = builder.tempfile_in(folder)?;
        Ok(Draft { target, text, place: Destination::Replaced(permissions) })
    }

    /// What is written so far.
    pub(crate) fn file(&mut self) -> &mut File {
        self.text.as_file_mut()
    }

    /// Where the draft lies.
    pub(crate) fn path(&self) -> &Path {
        self.text.path()
    }

    /// Lets the draft take its place.
    pub(crate) fn publish(self) -> io::Result<()> {
        let Draft { target, mut text, place } = self;
        match place {
            Destination::Replaced(permissions) => {
                if let Some(permissions) = permissions {
                    text.as_file().set_permissions(permissions)?;
                }
                text.as_file().sync_all()?;
                text.persist(target)?;
                Ok(())
            }
            Destination::WrittenTo => {
                let mut device = File::options().write(true).open(&target)?;
                text.rewind()?;
                io::copy(&mut text, &mut device)?;
                device.flush()
            }
        }
    }
}

/// The most links that are followed, as systems do.
const MOST_LINKS: usize = 40;

/// What a path leads to once links are followed, which need not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&at) {
            Ok(found) if found.file_type().is_symlink() => {
                let to = fs::read_link(&at)?;
                at = at.parent().unwrap_or(Path::new("")).join(to);
            }
            _ => return Ok(at),
        }
    }
    Err(io::Error::other("too many links"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for text in ["one", "two"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(folder.path(), b"").is_err());
        assert!(write(&folder.path().join("none/f"), b"").is_err());
    }

    #[test]
    fn a_place_is_tried_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        can_be_written(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&path, "old").unwrap();
        can_be_written(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert!(can_be_written(folder.path()).is_err());
        assert!(can_be_written(&path.join("f")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_what_they_lead_to_is_written() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/real"), "old").unwrap();
        fs::set_permissions(at("d/real"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("d/real", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        symlink("d/new", at("dangling")).unwrap();
        symlink("round", at("round")).unwrap();
        for name in ["link", "second"] {
            write(&at(name), name.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at("d/real")).unwrap(), name);
        }
        write(&at("dangling"), b"made").unwrap();
        assert_eq!(fs::read_to_string(at("d/new")).unwrap(), "made");
        assert!(write(&at("round"), b"").is_err());
        assert_eq!(fs::metadata(at("d/real")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(["link", "second", "dangling"].iter().all(|name| at(name).is_symlink()));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }
}

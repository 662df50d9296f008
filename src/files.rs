//! Writing files: every file that the program gives to its user goes through here.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes a file. A regular file is replaced at once: whoever reads meanwhile, and whatever goes wrong, there is the old text or
/// the new one. A link stays, and what it leads to is written. Devices and pipes are written to, never replaced.
pub fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = followed(path)?;
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(io::Error::from(ErrorKind::IsADirectory)),
        Ok(found) if !found.is_file() => {
            let mut device = File::options().write(true).open(&target)?;
            device.write_all(text)?;
            device.flush()
        }
        Ok(found) => replace(&target, text, Some(found.permissions())),
        Err(e) if e.kind() == ErrorKind::NotFound => replace(&target, text, None),
        Err(e) => Err(e),
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

fn replace(path: &Path, text: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
    let mut beside = builder.tempfile_in(folder)?;
    beside.write_all(text)?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    beside.as_file().sync_all()?;
    beside.persist(path)?;
    Ok(())
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

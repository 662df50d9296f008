//! What searches came to, in files of the user's cache folder: one folder for each build of the program, one file for each
//! answer.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::output;
use crate::result_cache::ResultCache;

/// Folders of other builds that were not written to for so long are deleted.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The largest file that is read, in bytes. Answers have a few kilobytes.
const LARGEST_FILE: u64 = 16 << 20;

/// The cache of earlier runs, or none if it is not wanted or there is no place for it.
pub(super) fn open(unwanted: bool) -> Option<Box<dyn ResultCache>> {
    let folder = dirs::cache_dir().filter(|_| !unwanted)?.join("magneton-ir").join(build()?);
    Some(Box::new(Cache { folder, warned: AtomicBool::new(false) }))
}

/// Tells builds of the program apart: the version, and size and time of the file that is run.
fn build() -> Option<String> {
    let file = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let age = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{}-{:x}-{:x}", env!("CARGO_PKG_VERSION"), file.len(), age.as_nanos()))
}

/// Answers in the files of a folder.
struct Cache {
    folder: PathBuf,
    /// Trouble is told once.
    warned: AtomicBool,
}

/// What a file holds. Names of files are hashes, which do not tell all questions apart.
#[derive(Serialize, Deserialize)]
struct Entry {
    question: String,
    answer: String,
}

impl Cache {
    fn file(&self, question: &str) -> PathBuf {
        let mut hasher = FxHasher::default();
        question.hash(&mut hasher);
        self.folder.join(format!("{:016x}.json", hasher.finish()))
    }

    fn read(&self, file: &Path) -> io::Result<Option<Entry>> {
        let length = match fs::metadata(file) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?.len(),
        };
        if length > LARGEST_FILE {
            return Err(io::Error::other("the file is too large"));
        }
        Ok(Some(serde_json::from_slice(&fs::read(file)?)?))
    }

    /// Writes a file whole or not at all, whoever else writes it.
    fn write(&self, file: &Path, entry: &Entry) -> io::Result<()> {
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)?;
            self.forget_other_builds();
        }
        let mut new = NamedTempFile::new_in(&self.folder)?;
        new.write_all(&serde_json::to_vec(entry)?)?;
        new.persist(file)?;
        Ok(())
    }

    /// Deletes folders that nobody used for long. Where that fails, they stay.
    fn forget_other_builds(&self) {
        let Some(all) = self.folder.parent().and_then(|f| fs::read_dir(f).ok()) else { return };
        for folder in all.flatten() {
            let unused = folder.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            if unused.is_some_and(|t| t > KEPT_FOR) {
                let _ = fs::remove_dir_all(folder.path());
            }
        }
    }

    fn warn(&self, what: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            output::warning(&format!("{what}; the cache in {} may be deleted at any time", self.folder.display()));
        }
    }
}

impl ResultCache for Cache {
    fn get(&self, question: &str) -> Option<String> {
        match self.read(&self.file(question)) {
            Ok(entry) => entry.filter(|e| e.question == question).map(|e| e.answer),
            Err(_) => {
                self.invalid(question);
                None
            }
        }
    }

    fn put(&self, question: &str, answer: &str) {
        let entry = Entry { question: question.to_owned(), answer: answer.to_owned() };
        if let Err(e) = self.write(&self.file(question), &entry) {
            self.warn(&format!("an answer could not be kept ({e})"));
        }
    }

    fn invalid(&self, question: &str) {
        let file = self.file(question);
        self.warn(&format!("{} is damaged and was left out", file.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path) -> Cache {
        Cache { folder: folder.join("build"), warned: AtomicBool::new(true) }
    }

    #[test]
    fn answers_are_kept_for_their_question_alone() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path()).put("how", "so");
        assert_eq!(cache(folder.path()).get("how").as_deref(), Some("so"));
        assert_eq!(cache(folder.path()).get("why"), None);
        // Another question whose hash is the same.
        let file = cache(folder.path()).file("why");
        fs::copy(cache(folder.path()).file("how"), file).unwrap();
        assert_eq!(cache(folder.path()).get("why"), None);
    }

    #[test]
    fn a_damaged_file_is_left_out_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put("how", "so");
        for damage in ["", "{", "[1]", "\0\0"] {
            fs::write(cache.file("how"), damage).unwrap();
            assert_eq!(cache.get("how"), None);
            cache.put("how", "so");
            assert_eq!(cache.get("how").as_deref(), Some("so"));
        }
    }

    #[test]
    fn many_may_put_and_get_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let answer = "x".repeat(100_000);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let cache = cache(folder.path());
                    for _ in 0..20 {
                        cache.put("how", &answer);
                        assert_eq!(cache.get("how").as_deref(), Some(&*answer));
                    }
                });
            }
        });
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_trouble() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("build"), "a file where the folder should be").unwrap();
        let cache = cache(folder.path());
        cache.put("how", "so");
        assert_eq!(cache.get("how"), None);
    }
}

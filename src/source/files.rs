//! Source files at hand for paths that exports record.

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::python::Python;

/// No source file of a person is longer.
const MAX_BYTES: u64 = 4 << 20;

/// Folders in which source files are looked for, and what was read from them.
pub struct Sources {
    folders: Vec<PathBuf>,
    read: RefCell<FxHashMap<PathBuf, Option<Rc<Python>>>>,
}

impl Sources {
    /// Files below these folders, and those that a record names by their full path.
    pub fn new(folders: Vec<PathBuf>) -> Sources {
        Sources { folders, read: RefCell::default() }
    }

    /// The file that a record calls `recorded`: the path itself, else below the folders as much of it as there is.
    pub(super) fn find(&self, recorded: &str) -> Option<PathBuf> {
        let path = Path::new(recorded);
        // A record is no reason to read anything but source files.
        let is_source = path.extension().is_some_and(|e| e == "py");
        if !is_source || path.components().any(|c| c == Component::ParentDir) {
            return None;
        }
        if path.is_absolute() && path.is_file() {
            return Some(path.to_owned());
        }
        let parts: Vec<_> = path.components().filter(|c| matches!(c, Component::Normal(_))).collect();
        // A file name alone is no sign that it is the file.
        let ends = (0..parts.len().saturating_sub(1).max(1)).map(|from| parts.iter().skip(from).collect::<PathBuf>());
        let ends: Vec<PathBuf> = ends.collect();
        self.folders.iter().flat_map(|folder| ends.iter().map(|end| folder.join(end))).find(|file| file.is_file())
    }

    /// The file, read and parsed once.
    pub(super) fn read(&self, path: &Path) -> Option<Rc<Python>> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let small = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= MAX_BYTES);
        let text = small.then(|| std::fs::read_to_string(path).ok()).flatten();
        let parsed = text.and_then(Python::parse).map(Rc::new);
        self.read.borrow_mut().insert(path.to_owned(), parsed.clone());
        parsed
    }

    /// The file of a module that a file imports from: `..utils`, `package.module`.
    pub(super) fn module(&self, importer: &Path, module: &str) -> Option<PathBuf> {
        let dots = module.chars().take_while(|&c| c == '.').count();
        let inside: PathBuf = module.trim_start_matches('.').split('.').filter(|part| !part.is_empty()).collect();
        let folder = importer.parent()?;
        let roots: Vec<&Path> = if dots > 0 {
            folder.ancestors().nth(dots - 1).into_iter().collect()
        } else {
            folder.ancestors().collect()
        };
        let files = roots.iter().flat_map(|root| {
            let at = root.join(&inside);
            [at.with_extension("py"), at.join("__init__.py")]
        });
        files.into_iter().find(|file| file.is_file())
    }
}

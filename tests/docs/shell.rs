//! Completions and manual pages, which the wheel installs. They are checked in, so that building it needs nothing of this.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap_complete::Shell;

/// Where the wheel puts files beside its package.
const SHARE: &str = "docs/shell/data/share";

const NAME: &str = "magneton-ir";

/// The folder and the name of the completions for a shell.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/magneton-ir"),
    (Shell::Zsh, "zsh/site-functions/_magneton-ir"),
    (Shell::Fish, "fish/vendor_completions.d/magneton-ir.fish"),
];

fn generated() -> BTreeMap<PathBuf, String> {
    let mut command = magneton_ir::cli::command();
    let mut files = BTreeMap::new();
    for (shell, path) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, NAME, &mut text);
        files.insert(PathBuf::from(path), String::from_utf8(text).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(command, folder.path()).unwrap();
    // `help` has nothing to say of itself.
    let pages = folder.path().read_dir().unwrap().map(|page| page.unwrap().path());
    for page in pages.filter(|page| !page.to_string_lossy().contains("-help")) {
        let name = Path::new("man/man1").join(page.file_name().unwrap());
        files.insert(name, std::fs::read_to_string(page).unwrap());
    }
    files
}

#[test]
fn completions_and_manual_pages_follow_the_command_line() {
    let share = super::root().join(SHARE);
    let files = generated();
    assert!(files.keys().any(|path| path.ends_with("magneton-ir-check.1")), "{:?}", files.keys());
    for (path, text) in &files {
        let path = share.join(path);
        if super::updating() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        super::up_to_date(&path, text);
    }
    let pages = share.join("man/man1").read_dir().unwrap().count();
    assert_eq!(pages + COMPLETIONS.len(), files.len(), "pages of commands that are gone");
}

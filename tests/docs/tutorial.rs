//! The tutorial does what it says: its files are written, its commands run in their order, and their output is what it
//! shows.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::CommandCargoExt;

use super::{root, up_to_date};

/// What the command prints, and its exit status if that is not 0.
fn transcript(command: &str, folder: &Path) -> String {
    let words = command.strip_prefix("magneton-ir ").unwrap_or_else(|| panic!("`{command}` does not run this program"));
    let mut program = Command::cargo_bin("magneton-ir").unwrap();
    program.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    let output = program.current_dir(folder).args(words.split_whitespace()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let mut shown = format!("$ {command}\n{}", String::from_utf8(text).unwrap());
    match output.status.code() {
        Some(0) => {}
        Some(1) => shown += "(exit status 1)\n",
        other => panic!("`{command}` ended with {other:?}:\n{shown}"),
    }
    shown
}

/// The name of a file in the text in front of a block: "save this as `a.mir`:".
fn file_name(line: &str) -> Option<&str> {
    line.strip_suffix("`:")?.rsplit_once("as `").map(|(_, name)| name)
}

/// The page with the output of every command as it is, and how many commands and files it has.
fn run(page: &str, folder: &Path) -> (String, usize, usize) {
    let mut out = String::new();
    let (mut commands, mut files) = (0, 0);
    let mut last_words = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let Some(language) = line.strip_prefix("```") else {
            last_words = if line.is_empty() { last_words } else { line };
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
        match (language, block.first().and_then(|l| l.strip_prefix("$ "))) {
            ("text", Some(command)) => {
                commands += 1;
                out += &transcript(command, folder);
            }
            _ => {
                let name =
                    file_name(last_words).unwrap_or_else(|| panic!("no file name in front of:\n{}", block.join("\n")));
                files += 1;
                let text = block.join("\n") + "\n";
                std::fs::write(folder.join(name), &text).unwrap();
                out += &text;
            }
        }
        out += "```\n";
    }
    (out, commands, files)
}

#[test]
fn the_tutorial_does_what_it_says() {
    let path = root().join("docs/src/tutorial.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (now, commands, files) = run(&page, folder.path());
    assert!(commands >= 5 && files >= 5, "{commands} commands, {files} files");
    up_to_date(&path, &now);
    assert!(now.contains("unknown: ") && now.contains("rules::tier_too_strong") && now.contains("equivalent"));
}

//! What the documentation shows is what the program does. `UPDATE=1 cargo test --test docs` rewrites the generated
//! pages and the output below the commands; look at the difference before committing it.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

mod cases;
mod modules;
mod names;
mod shell;
mod tutorial;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::CommandCargoExt;
use magneton_ir::ir::text;
use magneton_ir::ops::{self, Arity, AttrKind, Default, Family, OpDef};
use magneton_ir::rules::{FunctionInfo, RuleFile, RuleSet, describe_functions};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn updating() -> bool {
    std::env::var_os("UPDATE").is_some_and(|v| v == "1")
}

/// The file holds `expected`, or is made to.
fn up_to_date(path: &Path, expected: &str) {
    if updating() {
        std::fs::write(path, expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "{} is out of date: run `UPDATE=1 cargo test --test docs`", path.display());
}

fn pages() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = root().join("docs/src").read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    all.push(root().join("README.md"));
    all.sort();
    all
}

/// The text with every fenced block of `language` replaced by what `f` makes of its content.
fn with_blocks(text: &str, language: &str, mut f: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match &mut block {
            Some(content) if line == "```" => {
                out += &f(content);
                out += "```\n";
                block = None;
            }
            Some(content) => *content += &format!("{line}\n"),
            None => {
                out += &format!("{line}\n");
                if line == format!("```{language}") {
                    block = Some(String::new());
                }
            }
        }
    }
    assert!(block.is_none(), "an open block of {language}");
    out
}

/// A shell line that starts with the program, and its output; then the file `shown`, if it writes that and it is to be shown.
fn transcript(command: &str, shown: Option<&str>) -> String {
    let words = command.strip_prefix("cargo run --release -- ").or_else(|| command.strip_prefix("magneton-ir "));
    let words = words.unwrap_or_else(|| panic!("`{command}` does not run this program"));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let words = words.split_whitespace().map(|word| if shown == Some(word) { at(word) } else { word.to_owned() });
    let mut program = Command::cargo_bin("magneton-ir").unwrap();
    program.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    let output = program.current_dir(root()).args(words).output().unwrap();
    let status = output.status.code().unwrap();
    assert!(status == 0 || status == 1, "`{command}` failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = format!("$ {command}\n{}", String::from_utf8(output.stdout).unwrap());
    match shown {
        Some(name) => format!("{text}$ cat {name}\n{}", std::fs::read_to_string(at(name)).unwrap()),
        None => text,
    }
}

#[test]
fn commands_print_what_is_shown() {
    let mut commands = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let again = with_blocks(&text, "console", |block| {
            commands += 1;
            let first = block.lines().next().and_then(|l| l.strip_prefix("$ ")).expect("a command");
            transcript(first, block.lines().find_map(|l| l.strip_prefix("$ cat ")))
        });
        up_to_date(&page, &again);
    }
    assert!(commands >= 5);
}

#[test]
fn graphs_and_rules_in_the_docs_are_read() {
    let (mut graphs, mut rules) = (0, 0);
    for page in pages() {
        let name = page.display().to_string();
        let content = std::fs::read_to_string(&page).unwrap();
        with_blocks(&content, "mir", |block| {
            graphs += 1;
            let graph = text::parse(&name, block).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
            assert!(!graph.outputs().is_empty());
            String::new()
        });
        with_blocks(&content, "rules", |block| {
            let set = RuleSet::default().with_sources(&[RuleFile::new(&name, block)]);
            rules += set.unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e))).rules().len();
            String::new()
        });
    }
    assert!(graphs >= 1 && rules >= 4, "{graphs} graphs, {rules} rules");
}

/// The operators of ONNX stand at the end of their page.
#[test]
fn the_table_of_onnx_operators_is_up_to_date() {
    const HEADING: &str = "## Operators\n";
    let path = root().join("docs/src/onnx.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once(HEADING).expect("a heading");
    let mut table = format!(
        "{before}{HEADING}\nGenerated from the table of the reader. The numbers are the versions of the operator set that define or redefine \
         the operator.\n\n| operator | versions |\n|---|---|\n"
    );
    let mut operators: Vec<(String, Vec<i64>)> = magneton_ir::frontend::onnx::operators().collect();
    operators.sort();
    for (name, versions) in operators {
        let versions: Vec<String> = versions.iter().map(i64::to_string).collect();
        let _ = writeln!(table, "| `{name}` | {} |", versions.join(", "));
    }
    up_to_date(&path, &table);
}

#[test]
fn the_summary_lists_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    for page in root().join("docs/src").read_dir().unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let external = link.contains("://");
            assert!(external || page.parent().unwrap().join(file).exists(), "{link} in {}", page.display());
        }
    }
}

#[test]
fn every_dependency_has_a_reason() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let reasons = std::fs::read_to_string(root().join("docs/src/dependencies.md")).unwrap();
    let mut wanted = false;
    let mut count = 0;
    for line in manifest.lines() {
        if line.starts_with('[') {
            wanted = line.ends_with("dependencies]");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| wanted) {
            assert!(reasons.contains(&format!("`{name}`")), "{name} is not in dependencies.md");
            count += 1;
        }
    }
    let listed = reasons.lines().filter(|l| l.starts_with("| `")).map(|l| l.split('|').nth(1).unwrap());
    let listed: usize = listed.map(|names| names.matches('`').count() / 2).sum();
    assert_eq!(listed, count, "dependencies.md names a crate that is no dependency");
}

fn signature(def: &OpDef) -> String {
    let operand = |o: &ops::OperandDef| match o.arity {
        Arity::One => o.name.to_owned(),
        Arity::Optional => format!("{}?", o.name),
        Arity::Many => format!("{}...", o.name),
    };
    let attr = |a: &ops::AttrDef| {
        let kind = match a.kind {
            AttrKind::Bool => "bool",
            AttrKind::Int => "int",
            AttrKind::Float => "float",
            AttrKind::Number => "number",
            AttrKind::Str => "string",
            AttrKind::DType => "dtype",
            AttrKind::Ints => "ints",
            AttrKind::Dim => "dim",
            AttrKind::Dims => "dims",
        };
        match a.default {
            Default::Required => format!("{}: {kind}", a.name),
            default => format!("{}: {kind} = {}", a.name, default.value().unwrap()),
        }
    };
    let operands: Vec<String> = def.operands.iter().map(operand).collect();
    let attrs: Vec<String> = def.attrs.iter().map(attr).collect();
    let separator = if attrs.is_empty() { "" } else { "; " };
    format!("{}({}{separator}{})", def.name, operands.join(", "), attrs.join(", "))
}

#[test]
fn the_operator_reference_is_current() {
    let mut page =
        "# Operators\n\nGenerated from the op table. `x?` may be left out, `xs...` stands for any number of operands, \
                    `a: kind = value` has a default.\n"
            .to_owned();
    let mut families: BTreeMap<Family, Vec<&OpDef>> = BTreeMap::new();
    for def in ops::all() {
        families.entry(def.family).or_default().push(def);
    }
    for (family, defs) in families {
        write!(page, "\n## {family:?}\n\n| operator | |\n|---|---|\n").unwrap();
        for def in defs {
            writeln!(page, "| `{}` | {} |", signature(def), def.doc.replace('|', "\\|")).unwrap();
        }
    }
    up_to_date(&root().join("docs/src/ops.md"), &page);
}

#[test]
fn the_rule_reference_is_current() {
    let mut page = "# The library's rules\n\nGenerated from `rules/`. `⇔` is used in both directions.\n".to_owned();
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    for rule in RuleSet::library().unwrap().describe() {
        let doc = rule.doc.replace('\n', " ").replace('|', "\\|");
        let arrow = if rule.both_ways { "⇔" } else { "⇒" };
        let table = families.entry(rule.family.to_string()).or_default();
        writeln!(table, "| `{}` | {} | {arrow} | {doc} |", rule.name, rule.tier).unwrap();
    }
    for (family, table) in families {
        write!(page, "\n## {family}\n\n| rule | tier | | |\n|---|---|---|---|\n{table}").unwrap();
    }
    up_to_date(&root().join("docs/src/library.md"), &page);
}

#[test]
fn the_function_reference_is_current() {
    let mut page = "# Functions of the rule language\n\nGenerated from the source. They stand in `where`, `let` and `assume` and behind `;`. Dims and places in lists \
                    may count from the end.\n"
        .to_owned();
    let line = |f: &FunctionInfo| {
        let arguments = f.of_tensor.then_some("x").into_iter().chain(f.arguments.iter().copied());
        format!("| `{}({})` | {} |\n", f.name, arguments.collect::<Vec<_>>().join(", "), f.doc.replace('|', "\\|"))
    };
    let all = describe_functions();
    for (title, of_tensor) in [("Of a tensor", true), ("Of values", false)] {
        page += &format!("\n## {title}\n\n| function | |\n|---|---|\n");
        page.extend(all.iter().filter(|f| f.of_tensor == of_tensor).map(line));
    }
    page += "\n## Of a list of tensors\n\n| function | |\n|---|---|\n\
             | `len(xs)` | The number of tensors. |\n\
             | `same(e)` | Whether `e`, which asks about `xs`, has the same value for every tensor of the list. |\n";
    up_to_date(&root().join("docs/src/functions.md"), &page);
}

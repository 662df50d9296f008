//! The TextMate grammar for rule files names every word of the library as what it is.

use std::path::Path;

use magneton_ir::ops;
use magneton_ir::rules::RuleSet;
use regex::Regex;
use serde_json::Value;

/// The patterns of the grammar in order. It has `match` rules only, without nesting, so that a line is read from left to
/// right and each time the pattern that matches first wins.
struct Grammar(Vec<(Regex, Value)>);

/// A word and its scope, as an editor shows it.
#[derive(Debug, PartialEq)]
struct Word<'t> {
    text: &'t str,
    scope: String,
}

impl Grammar {
    fn load() -> Grammar {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/editor/rules.tmLanguage.json");
        let grammar: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let rules = grammar["patterns"].as_array().unwrap().iter().map(|include| {
            let name = include["include"].as_str().unwrap().strip_prefix('#').unwrap();
            let rule = grammar["repository"][name].clone();
            (Regex::new(rule["match"].as_str().unwrap()).unwrap(), rule)
        });
        Grammar(rules.collect())
    }

    fn words<'t>(&self, line: &'t str) -> Vec<Word<'t>> {
        let mut words = Vec::new();
        let mut at = 0;
        loop {
            let found = self.0.iter().filter_map(|(regex, rule)| Some((regex.captures_at(line, at)?, rule)));
            let Some((captures, rule)) = found.min_by_key(|(c, _)| c.get(0).unwrap().start()) else {
                words.push(Word { text: &line[at..], scope: String::new() });
                break;
            };
            let whole = captures.get(0).unwrap();
            words.push(Word { text: &line[at..whole.start()], scope: String::new() });
            let scope = |v: &Value| v["name"].as_str().unwrap().trim_end_matches(".magneton-rules").to_owned();
            match rule["captures"].as_object() {
                None => words.push(Word { text: whole.as_str(), scope: scope(rule) }),
                Some(parts) => {
                    let mut done = whole.start();
                    for (number, part) in parts {
                        let text = captures.get(number.parse().unwrap()).unwrap();
                        words.push(Word { text: &line[done..text.start()], scope: String::new() });
                        words.push(Word { text: text.as_str(), scope: scope(part) });
                        done = text.end();
                    }
                    words.push(Word { text: &line[done..whole.end()], scope: String::new() });
                }
            }
            at = whole.end();
        }
        words.retain(|w| !w.text.trim().is_empty());
        words
    }
}

fn library() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect()
}

#[test]
fn every_word_of_the_library_has_a_scope() {
    let grammar = Grammar::load();
    for text in library() {
        for line in text.lines() {
            for word in grammar.words(line) {
                assert!(!word.scope.is_empty(), "`{}` in: {line}", word.text);
            }
        }
    }
}

#[test]
fn names_of_rules_and_operators_are_seen_as_such() {
    let grammar = Grammar::load();
    let (mut rules, mut calls) = (Vec::new(), Vec::new());
    for text in library() {
        for line in text.lines() {
            for word in grammar.words(line) {
                match word.scope.as_str() {
                    "entity.name.function" => rules.push(word.text.to_owned()),
                    "support.function" => calls.push(word.text.to_owned()),
                    _ => {}
                }
            }
        }
    }
    for rule in RuleSet::library().unwrap().describe() {
        assert!(rules.contains(&rule.name.to_string()), "{}", rule.name);
    }
    for op in ["matmul", "permute", "sdpa", "where"] {
        assert!(ops::find(op).is_some() && calls.iter().any(|c| c == op), "{op}");
    }
}

#[test]
fn a_rule_is_coloured_as_its_author_means_it() {
    let words = Grammar::load().words("rule a [exact]: f(x; dim=-1) <=> where(m, x, 1e-5) where d == 2 // why");
    let scopes: Vec<(&str, &str)> = words.iter().map(|w| (w.text, w.scope.split('.').next().unwrap())).collect();
    let wanted = [
        ("rule", "keyword"),
        ("a", "entity"),
        ("[", "punctuation"),
        ("exact", "storage"),
        ("]", "punctuation"),
        (":", "punctuation"),
        ("f", "support"),
        ("(", "punctuation"),
        ("x", "variable"),
        (";", "punctuation"),
        ("dim", "variable"),
        ("=", "keyword"),
        ("-", "keyword"),
        ("1", "constant"),
        (")", "punctuation"),
        ("<=>", "keyword"),
        ("where", "support"),
        ("(", "punctuation"),
        ("m", "variable"),
        (",", "punctuation"),
        ("x", "variable"),
        (",", "punctuation"),
        ("1e-5", "constant"),
        (")", "punctuation"),
        ("where", "keyword"),
        ("d", "variable"),
        ("==", "keyword"),
        ("2", "constant"),
        ("// why", "comment"),
    ];
    assert_eq!(scopes, wanted);
}

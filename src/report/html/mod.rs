//! Reports as one HTML file each, which works without a network.
//!
//! Names come from files that others wrote. Every text goes through maud, which escapes it, or through the JSON of
//! [`data`], which the script only ever puts into text nodes; the content security policy allows nothing but the style and
//! the script of this folder.

mod comparison;
mod data;
mod explanation;
mod frontier;
mod optimization;
mod parts;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

pub(super) use comparison::comparison;
pub(super) use explanation::explanation;
pub(super) use frontier::svg as frontier_svg;
pub(super) use optimization::optimization;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A whole document. `data` is the JSON that the script reads.
fn document(title: &str, body: &Markup, data: Option<&str>) -> String {
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if let Some(data) = data {
                    script type="application/json" id="data" { (PreEscaped(data)) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// A source of a content security policy: exactly this text.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;

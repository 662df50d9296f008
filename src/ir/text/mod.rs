//! The text form of graphs, `.mir`: [`parse`] and [`print()`]. The grammar stands in `grammar/mir.pest`.
//!
//! ```text
//! graph mlp(x: f32[64, 128], w: param f32[128, 256]) {
//!   y: f32[64, 256] = matmul(x, w) @ "model.py":12 in "layers.0.mlp"
//!   z = gelu(mul(y, 2.0); approximate="tanh")
//!   return z
//! }
//! ```

mod ast;
mod attrs;
mod build;
mod equalities;
mod error;
mod order;
mod print;
mod read;
#[cfg(test)]
mod tests;

pub use equalities::parse_equalities;
pub use error::{MOST_ERRORS, MirError, MirErrors};
pub use print::{name, print};

use super::Graph;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 64 << 20;

/// How deep brackets may be nested.
pub const DEEPEST_NESTING: usize = 100;

/// Reads a graph. `name` is the file's name, for messages.
///
/// ```
/// let graph = magneton_ir::ir::text::parse("double.mir", "graph double(x: f32[2]) { y = add(x, x) return y }")?;
/// assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[2]");
/// # Ok::<(), magneton_ir::ir::text::MirErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the text, each with its place.
pub fn parse(name: &str, source: &str) -> Result<Graph, MirErrors> {
    checked(name, source, || build::build(&read::read(source)?))
}

/// Refuses texts that are too large or nested too deeply for `read`, and gives its errors their place.
fn checked<T>(name: &str, source: &str, read: impl FnOnce() -> Result<T, Vec<MirError>>) -> Result<T, MirErrors> {
    if source.len() > LARGEST_FILE {
        let error = MirError::TooLarge { size: source.len(), limit: LARGEST_FILE };
        return Err(MirErrors::new(name, "", vec![error]));
    }
    let result = check_nesting(source).map_err(|e| vec![e]).and_then(|()| read());
    result.map_err(|errors| MirErrors::new(name, source, errors))
}

/// Refuses deep nesting before the recursive parser sees it.
fn check_nesting(source: &str) -> Result<(), MirError> {
    let (mut depth, mut in_string, mut in_comment, mut escaped) = (0_usize, false, false, false);
    let mut before = 0;
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            b'\n' => (in_comment, in_string, escaped) = (false, false, false),
            _ if in_comment => {}
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'/' if before == b'/' => in_comment = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_NESTING {
            return Err(MirError::TooDeep { limit: DEEPEST_NESTING, span: (at, 1).into() });
        }
        before = byte;
    }
    Ok(())
}

/// Whether a name can stand in the text without quotes.
fn is_identifier(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "config", "graph", "return", "literal", "opaque", "param", "buffer", "as", "in", "from", "fn", "code",
        "implicit", "true", "false", "none", "inf", "nan",
    ];
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    letters && starts && !RESERVED.contains(&name)
}

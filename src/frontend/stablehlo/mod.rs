//! Programs of JAX, TensorFlow and other front ends of XLA: the text form of StableHLO modules.
//!
//! `read` finds words and brackets (`ast`), `form` brings every way to print an operation to one, `attribute`, `types`, `literal`
//! and `location` read its parts.

mod ast;
mod attribute;
mod error;
mod form;
mod literal;
mod location;
mod read;
mod types;

pub fn words(text: &str) -> usize {
    match read::read(text) {
        Ok(f) => f.operations.iter().map(|o| form::Form::of(o).operands.len() + o.trees.len()).sum(),
        Err(e) => { println!("{e:?} {:?}", text.get(e.at..).map(|t| t.chars().take(120).collect::<String>())); 0 }
    }
}

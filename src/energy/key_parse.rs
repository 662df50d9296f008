//! Reads the text form of a key back.

use std::str::FromStr;

use smallvec::SmallVec;
use thiserror::Error;

use super::key::{KernelKey, KeyOperand, LayoutClass, MathMode};
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};
use crate::ops::{AttrKind, OpDef};

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is no operator key: {reason}")]
pub struct KeyError {
    /// What was to be read.
    pub text: String,
    /// Why it is no key.
    pub reason: String,
}

struct Reader<'a> {
    rest: &'a str,
}

type Read<T> = Result<T, String>;

impl<'a> Reader<'a> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// Takes `token` if it comes next.
    fn eat(&mut self, token: &str) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn want(&mut self, token: &str) -> Read<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected `{token}` before `{}`", clip(self.rest))) }
    }

    fn word(&mut self) -> Read<&'a str> {
        self.skip_spaces();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.:+-".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if word.is_empty() { Err(format!("expected a word before `{}`", clip(rest))) } else { Ok(word) }
    }

    fn list<T: FromStr>(&mut self) -> Read<SmallVec<[T; 4]>> {
        self.want("[")?;
        let mut all = SmallVec::new();
        if self.eat("]") {
            return Ok(all);
        }
        loop {
            let word = self.word()?;
            all.push(word.parse().map_err(|_| format!("`{word}` is not a number here"))?);
            if self.eat("]") {
                return Ok(all);
            }
            self.want(",")?;
        }
    }

    fn operand(&mut self) -> Read<KeyOperand> {
        let dtype: DType = self.word()?.parse().map_err(|e| format!("{e}"))?;
        let shape: Shape = self.list()?;
        let ty = TensorType::new(dtype, shape).map_err(|e| e.to_string())?;
        let rank = ty.rank();
        let layout = if self.eat("@order") {
            let order: SmallVec<[usize; 4]> = self.list()?;
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..rank) {
                return Err(format!("{order:?} is no order of {rank} dimensions"));
            }
            LayoutClass::Order(order)
        } else if self.eat("@strides") {
            let strides: SmallVec<[usize; 4]> = self.list()?;
            // Strides this large address no memory; refusing them keeps later products from overflowing.
            if strides.len() != rank || strides.iter().any(|&s| s > crate::ir::MAX_ELEMENTS) {
                return Err(format!("{strides:?} are no strides of {rank} dimensions"));
            }
            LayoutClass::Strides(strides)
        } else {
            LayoutClass::Contiguous
        };
        Ok(KeyOperand { ty, layout })
    }

    fn attr(&mut self, def: &OpDef) -> Read<(String, AttrValue)> {
        let name = self.word()?;
        let i = def.attr_index(name).ok_or_else(|| format!("`{}` has no attribute `{name}`", def.name))?;
        self.want("=")?;
        Ok((name.to_owned(), self.value(def.attrs[i].kind)?))
    }

    fn value(&mut self, kind: AttrKind) -> Read<AttrValue> {
        if self.eat("none") {
            return Ok(AttrValue::None);
        }
        let wrong = |word: &str| format!("`{word}` does not fit the attribute");
        Ok(match kind {
            AttrKind::Ints | AttrKind::Dims => AttrValue::Ints(Ints::from_vec(self.list()?.into_vec())),
            AttrKind::Str => {
                self.want("\"")?;
                let end = self.rest.find('"').ok_or("a string does not end")?;
                let (word, rest) = self.rest.split_at(end);
                self.rest = &rest[1..];
                AttrValue::str(word)
            }
            AttrKind::Bool => self.word().and_then(|w| w.parse().map(AttrValue::Bool).map_err(|_| wrong(w)))?,
            AttrKind::Int | AttrKind::Dim => {
                self.word().and_then(|w| w.parse().map(AttrValue::Int).map_err(|_| wrong(w)))?
            }
            AttrKind::Float | AttrKind::Number => {
                self.word().and_then(|w| w.parse().map(AttrValue::float).map_err(|_| wrong(w)))?
            }
            AttrKind::DType => self.word().and_then(|w| w.parse().map(AttrValue::DType).map_err(|_| wrong(w)))?,
        })
    }

    fn key(&mut self) -> Read<KernelKey> {
        let op = self.word()?;
        let def = crate::ops::find(op).ok_or_else(|| format!("`{op}` is not in the op table"))?;
        self.want("(")?;
        let mut key = KernelKey { op: op.to_owned(), attrs: Vec::new(), operands: Vec::new(), math: None };
        self.skip_spaces();
        if !self.rest.starts_with([')', ';']) {
            loop {
                key.operands.push(self.operand()?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        if self.eat(";") {
            loop {
                key.attrs.push(self.attr(def)?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.want(")")?;
        if self.eat("math=") {
            key.math = Some(match self.word()? {
                "ieee" => MathMode::Ieee,
                "tf32" => MathMode::Tf32,
                other => return Err(format!("`{other}` is no math mode")),
            });
        }
        self.skip_spaces();
        if self.rest.is_empty() { Ok(key) } else { Err(format!("`{}` stands behind the key", clip(self.rest))) }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(20).collect()
}

impl FromStr for KernelKey {
    type Err = KeyError;

    /// Reads the text form. The operator has to be in the op table.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let read = Reader { rest: text }.key().map(KernelKey::canonical);
        read.map_err(|reason| KeyError { text: text.chars().take(200).collect(), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Layout, MathConfig};
    use crate::ops::{Call, find};

    #[test]
    fn keys_print_and_read_back() {
        for text in [
            "add(f32[32], f32[])",
            "add(f32[8, 4], f32[8, 4] @strides[1, 16])",
            "gelu(f32[1048576]; approximate=\"tanh\")",
            "concat(bf16[1, 8], bf16[1, 8]; dim=1)",
            "cast(bf16[8]; dtype=f32)",
            "pow(f32[8]; exponent=3.0)",
        ] {
            let key: KernelKey = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn hostile_keys_are_refused() {
        for text in [
            "",
            "add",
            "add(",
            "nope(f32[1])",
            "add(f32[99999999999999999999])",
            "add(f32[18446744073709551615, 2])",
            "add(f32[2] @order[5])",
            "add(f32[2] @strides[1, 1])",
            "gelu(f32[1]; approximate=\"tanh)",
            "add(f32[1]; nope=1)",
            "add(f32[1]) math=fast",
            "add(f32[1]) x",
        ] {
            assert!(text.parse::<KernelKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn layouts_come_back_from_their_class() {
        let shape = [8, 12, 1024, 64];
        let permuted = Layout { strides: SmallVec::from_slice(&[786432, 64, 768, 1]), offset: 5 };
        let class = LayoutClass::of(&shape, &permuted);
        assert_eq!(class, LayoutClass::Order(SmallVec::from_slice(&[0, 2, 1, 3])));
        assert_eq!(class.layout(&shape).strides, permuted.strides);
        let expanded = Layout { strides: SmallVec::from_slice(&[0, 1]), offset: 0 };
        assert!(LayoutClass::of(&[8, 5], &expanded).is_expanded(&[8, 5]));
        // The stride of a dimension of size 1 means nothing.
        let odd = Layout { strides: SmallVec::from_slice(&[7, 1]), offset: 0 };
        assert_eq!(LayoutClass::of(&[1, 5], &odd), LayoutClass::Contiguous);
    }

    #[test]
    fn neutral_and_default_attributes_are_left_out() {
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[4])).unwrap();
        let def = find("dropout").unwrap();
        let attrs = def.attrs(&[("p", AttrValue::float(0.1))]).unwrap();
        let call = Call { op: def, attrs: &attrs, operands: &[&ty] };
        let key = KernelKey::of_call(&call, &[&Layout::contiguous(&ty.shape)], &MathConfig::default());
        assert_eq!(key.to_string(), "dropout(f32[4])");
    }
}

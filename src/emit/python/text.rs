//! Values as Python text. Names and texts come from files that others wrote: none of them leaves its place.

use std::fmt::Write;

use crate::ir::{AttrValue, DType};
use crate::printable::one_line;

/// A text as what stands behind a `#`.
pub(super) fn comment(text: &str) -> String {
    one_line(text).chars().take(200).collect()
}

/// A text as a literal: only plain signs, everything else escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

pub(super) fn float(value: f64) -> String {
    match value {
        v if v.is_nan() => "float(\"nan\")".to_owned(),
        f64::INFINITY => "float(\"inf\")".to_owned(),
        f64::NEG_INFINITY => "float(\"-inf\")".to_owned(),
        v => format!("{v:?}"),
    }
}

pub(super) fn tuple(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    match parts.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

/// A constant among the results.
pub(super) fn value(value: &AttrValue) -> String {
    match value {
        AttrValue::None => "None".to_owned(),
        AttrValue::Bool(v) => if *v { "True" } else { "False" }.to_owned(),
        AttrValue::Int(v) => v.to_string(),
        AttrValue::Float(v) => float(v.0),
        AttrValue::Str(v) => quoted(v),
        AttrValue::DType(v) => torch_dtype(*v).to_owned(),
        AttrValue::Ints(v) => format!("[{}]", v.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// An element type as a program names it.
pub fn torch_dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "torch.float64",
        DType::F32 => "torch.float32",
        DType::F16 => "torch.float16",
        DType::BF16 => "torch.bfloat16",
        DType::F8E4M3 => "torch.float8_e4m3fn",
        DType::F8E5M2 => "torch.float8_e5m2",
        DType::I64 => "torch.int64",
        DType::I32 => "torch.int32",
        DType::I16 => "torch.int16",
        DType::I8 => "torch.int8",
        DType::U64 => "torch.uint64",
        DType::U32 => "torch.uint32",
        DType::U16 => "torch.uint16",
        DType::U8 => "torch.uint8",
        DType::Bool => "torch.bool",
    }
}

/// A memory format by its code in the schema of exported programs.
pub(super) fn memory_format(code: i64) -> &'static str {
    match code {
        2 => "torch.channels_last",
        3 => "torch.channels_last_3d",
        4 => "torch.preserve_format",
        _ => "torch.contiguous_format",
    }
}

/// A tuple of sizes.
pub(super) fn sizes(shape: &[usize]) -> String {
    tuple(shape.iter().map(usize::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_in_their_place() {
        assert_eq!(quoted("a\"; import os\n#\\"), r#""a\"; import os\U0000000a#\\""#);
        assert_eq!(quoted("\u{2028}ü"), r#""\U00002028\U000000fc""#);
        for hostile in ["x\nimport os", "x\rimport os", "x\u{c}import os", "x\u{2028}import os"] {
            let text = comment(hostile);
            assert!(!text.contains(['\n', '\r', '\u{c}', '\u{2028}']), "{text:?}");
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        assert_eq!(
            [-0.0, 1e300, f64::NAN, f64::NEG_INFINITY].map(float),
            ["-0.0", "1e300", "float(\"nan\")", "float(\"-inf\")"]
        );
    }
}

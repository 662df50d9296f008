//! Arguments, types and devices in the words of the schema (`torch/_export/serde/schema.py`).

use serde_json::{Value as Json, json};

use crate::emit::EmitError;
use crate::emit::program::Id;
use crate::ir::{DType, Layout, TensorType};
use crate::ops::aten::Arg;

/// The code of an element type.
pub(super) fn scalar_type(dtype: DType) -> Result<i64, EmitError> {
    Ok(match dtype {
        DType::U8 => 1,
        DType::I8 => 2,
        DType::I16 => 3,
        DType::I32 => 4,
        DType::I64 => 5,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::Bool => 12,
        DType::BF16 => 13,
        DType::F8E4M3 => 29,
        DType::F8E5M2 => 30,
        DType::U16 => 28,
        DType::U32 | DType::U64 => {
            return Err(EmitError::archive(format!("exported programs have no element type {dtype}")));
        }
    })
}

pub(super) fn tensor(name: &str) -> Json {
    json!({ "name": name })
}

/// JSON has no words for these: the schema has.
fn float(value: f64) -> Json {
    match value {
        v if v.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        v => json!(v),
    }
}

/// A device as PyTorch names it: `cuda:1`.
fn device(text: &str) -> Json {
    match text.split_once(':') {
        Some((kind, index)) => json!({ "type": kind, "index": index.parse::<i64>().ok() }),
        None => json!({ "type": text, "index": null }),
    }
}

/// An argument; `main` is the device of the program.
pub(super) fn argument(arg: &Arg<Id>, names: &[String], main: &Json) -> Result<Json, EmitError> {
    Ok(match arg {
        Arg::None => json!({ "as_none": true }),
        Arg::Bool(v) => json!({ "as_bool": v }),
        Arg::Int(v) => json!({ "as_int": v }),
        Arg::Float(v) => json!({ "as_float": float(*v) }),
        Arg::Str(v) => json!({ "as_string": v }),
        Arg::Ints(v) => json!({ "as_ints": v.as_slice() }),
        Arg::Floats(v) => json!({ "as_floats": v.iter().map(|&f| float(f)).collect::<Vec<_>>() }),
        Arg::Bools(v) => json!({ "as_bools": v }),
        Arg::DType(v) => json!({ "as_scalar_type": scalar_type(*v)? }),
        Arg::MemoryFormat(code) => json!({ "as_memory_format": code }),
        Arg::Device => json!({ "as_device": main }),
        Arg::On(text) => json!({ "as_device": device(text) }),
        Arg::Tensor(id) | Arg::Either(id) => json!({ "as_tensor": tensor(&names[*id]) }),
        Arg::Tensors(all) => json!({ "as_tensors": all.iter().map(|&id| tensor(&names[id])).collect::<Vec<_>>() }),
        Arg::OptionalTensors(all) => {
            let each = all.iter().map(|t| match t {
                Some(id) => json!({ "as_tensor": tensor(&names[*id]) }),
                None => json!({ "as_none": true }),
            });
            json!({ "as_optional_tensors": each.collect::<Vec<_>>() })
        }
    })
}

/// What the schema says of a tensor.
pub(super) fn meta(ty: &TensorType, layout: Option<&Layout>, device: &Json) -> Result<Json, EmitError> {
    let dense = Layout::contiguous(&ty.shape);
    let strides = &layout.filter(|l| l.strides.len() == ty.rank()).unwrap_or(&dense).strides;
    let sizes = |all: &[usize]| all.iter().map(|n| json!({ "as_int": n })).collect::<Vec<_>>();
    Ok(json!({
        "dtype": scalar_type(ty.dtype)?,
        "sizes": sizes(&ty.shape),
        "requires_grad": false,
        "device": device,
        "strides": sizes(strides),
        "storage_offset": { "as_int": 0 },
        "layout": 7,
    }))
}

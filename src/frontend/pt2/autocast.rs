//! Autocast as exports record it: on which kinds of devices it is on, and what it does to an operator.

use rustc_hash::FxHashMap;

use super::argument::{Argument, Number};
use super::dtype::dtype;
use super::lowering::Refusal;
use super::schema;
use crate::ir::{DType, Value};

/// On which kinds of devices autocast is on, with the lower type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Autocast(pub(super) Vec<(String, DType)>);

/// What autocast does to one operator.
#[derive(Default)]
pub(super) struct Casts {
    /// Arguments that are cast, and what they become.
    pub cast: FxHashMap<Value, Value>,
    /// Whether there may be casts in what the operator is made of.
    pub happen_inside: bool,
    /// For operators in which casts may happen: the mode that they run under.
    pub mode: Option<String>,
}

impl Autocast {
    pub(super) fn is_on(&self) -> bool {
        !self.0.is_empty()
    }

    /// The mode inside of `wrap_with_autocast`, whose arguments have no names: device, element type, whether it is on,
    /// whether casts are cached.
    pub(super) fn inside(&self, node: &schema::Node) -> Result<Autocast, Refusal> {
        let arg = |i: usize| node.inputs.get(i).map(|input| &input.arg);
        let (Some(Argument::Str(device)), Some(Argument::Bool(Number::Known(on)))) = (arg(0), arg(2)) else {
            return Err(Refusal::new("does not say on which device autocast is on").help("the file is damaged"));
        };
        let lower = match (arg(1), device.as_str()) {
            (Some(Argument::ScalarType(code)), _) => dtype(*code)?,
            (_, "cpu") => DType::BF16,
            (_, "cuda") => DType::F16,
            _ => return Err(Refusal::new(format!("does not say to which type autocast casts on `{device}`"))),
        };
        let mut inner: Vec<(String, DType)> = self.0.iter().filter(|(d, _)| d != device).cloned().collect();
        if *on {
            inner.push((device.clone(), lower));
        }
        inner.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Autocast(inner))
    }

    /// Devices and types, as the mode of an operator names them.
    pub(super) fn describe(&self) -> String {
        self.0.iter().map(|(device, dtype)| format!("{device} {dtype}")).collect::<Vec<_>>().join(", ")
    }
}

//! Arguments of nodes: the schema's tagged unions.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::lowering::Refusal;
use super::schema::{Device, Graph};
use crate::ir::AttrValue;

/// A reference to a tensor by the name of the value.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TensorName {
    pub name: String,
}

/// A size, a stride or an offset in a tensor's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Int(i64),
    /// An expression over sizes that are known only when the model runs.
    Symbolic(String),
}

/// A number that may be symbolic.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number<T> {
    Known(T),
    Symbolic(String),
}

/// A graph given as an argument, as control flow and other higher-order operators take it.
#[derive(Debug, Deserialize)]
pub(super) struct GraphArgument {
    pub graph: Box<Graph>,
}

/// One argument of a node, or one of its outputs.
#[derive(Debug)]
pub(super) enum Argument {
    None,
    Tensor(String),
    Tensors(Vec<String>),
    OptionalTensors(Vec<Option<String>>),
    NestedTensors(Vec<Vec<String>>),
    /// Arguments by name.
    Map(Vec<(String, Argument)>),
    Int(Number<i64>),
    Ints(Vec<Number<i64>>),
    Float(Number<f64>),
    Floats(Vec<Number<f64>>),
    Bool(Number<bool>),
    Bools(Vec<bool>),
    Str(String),
    ScalarType(i64),
    MemoryFormat(i64),
    Layout,
    Device(Device),
    Graph(GraphArgument),
    /// Anything else: its tag and its JSON text. Nothing in the op table takes such an argument.
    Other(String, String),
}

/// The tags of other arguments that are plain data.
const PLAIN: [&str; 4] = ["as_strings", "as_operator", "as_complex", "as_int_lists"];

impl Argument {
    /// Names of the tensors that the argument refers to.
    pub(super) fn tensors(&self) -> Vec<&str> {
        match self {
            Argument::Tensor(name) => vec![name],
            Argument::Tensors(names) => names.iter().map(String::as_str).collect(),
            Argument::OptionalTensors(names) => names.iter().flatten().map(String::as_str).collect(),
            Argument::NestedTensors(all) => all.iter().flatten().map(String::as_str).collect(),
            Argument::Map(all) => all.iter().flat_map(|(_, a)| a.tensors()).collect(),
            _ => Vec::new(),
        }
    }

    /// Plain data as text: other texts are other data.
    pub(super) fn literal(&self) -> Result<String, Refusal> {
        match self {
            Argument::Other(tag, text) if PLAIN.contains(&tag.as_str()) => Ok(format!("{tag} {text}")),
            Argument::Other(tag, _) if tag == "as_custom_obj" => {
                Err(Refusal::new("takes an object, whose contents are not read"))
            }
            Argument::Other(tag, _) => Err(Refusal::new(format!("has an argument of the unknown kind `{tag}`"))),
            Argument::Bools(all) => Ok(format!("{all:?}")),
            // Where a tensor lies does not change what is computed.
            Argument::Device(_) => Ok("Device".to_owned()),
            other => Ok(format!("{other:?}")),
        }
    }

    /// The argument as a constant among inputs or outputs.
    pub(super) fn constant(&self) -> Result<AttrValue, Refusal> {
        if let Some(symbol) = self.symbol() {
            return Err(Refusal::symbolic(symbol));
        }
        if !self.tensors().is_empty() {
            return Err(Refusal::new("holds several tensors in one argument").help("the file is damaged"));
        }
        Ok(match self {
            Argument::None => AttrValue::None,
            Argument::Bool(Number::Known(v)) => AttrValue::Bool(*v),
            Argument::Int(Number::Known(v)) => AttrValue::Int(*v),
            Argument::Float(Number::Known(v)) => AttrValue::float(*v),
            Argument::Str(text) => AttrValue::str(text),
            other => AttrValue::str(&other.literal()?),
        })
    }

    /// The symbolic part of the argument, if it has one.
    pub(super) fn symbol(&self) -> Option<&str> {
        fn of<T>(number: &Number<T>) -> Option<&str> {
            match number {
                Number::Symbolic(name) => Some(name),
                Number::Known(_) => None,
            }
        }
        match self {
            Argument::Int(n) => of(n),
            Argument::Float(n) => of(n),
            Argument::Bool(n) => of(n),
            Argument::Ints(all) => all.iter().find_map(of),
            Argument::Floats(all) => all.iter().find_map(of),
            Argument::Map(all) => all.iter().find_map(|(_, a)| a.symbol()),
            _ => None,
        }
    }
}

/// A float as PyTorch writes it: a JSON number, or a word for the values that JSON does not know.
struct Float(f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FloatVisitor;
        impl Visitor<'_> for FloatVisitor {
            type Value = Float;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number, \"Infinity\", \"-Infinity\" or \"NaN\"")
            }

            fn visit_f64<E: Error>(self, v: f64) -> Result<Float, E> {
                Ok(Float(v))
            }

            fn visit_i64<E: Error>(self, v: i64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }

            fn visit_u64<E: Error>(self, v: u64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }

            fn visit_str<E: Error>(self, v: &str) -> Result<Float, E> {
                match v {
                    "Infinity" => Ok(Float(f64::INFINITY)),
                    "-Infinity" => Ok(Float(f64::NEG_INFINITY)),
                    "NaN" => Ok(Float(f64::NAN)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)),
                }
            }
        }
        deserializer.deserialize_any(FloatVisitor)
    }
}

#[derive(Deserialize)]
struct Expression {
    expr_str: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SizeUnion {
    AsInt(i64),
    AsExpr(Expression),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match SizeUnion::deserialize(deserializer)? {
            SizeUnion::AsInt(n) => Size::Int(n),
            SizeUnion::AsExpr(e) => Size::Symbolic(e.expr_str),
        })
    }
}

/// `SymIntArgument`, `SymFloatArgument` and `SymBoolArgument`: a value or the name of one.
#[derive(Deserialize)]
enum SymbolUnion {
    #[serde(rename = "as_name")]
    Name(String),
    #[serde(rename = "as_int")]
    Int(i64),
    #[serde(rename = "as_float")]
    Float(Float),
    #[serde(rename = "as_bool")]
    Bool(bool),
}

impl SymbolUnion {
    fn int<E: Error>(self) -> Result<Number<i64>, E> {
        match self {
            SymbolUnion::Name(name) => Ok(Number::Symbolic(name)),
            SymbolUnion::Int(n) => Ok(Number::Known(n)),
            _ => Err(E::custom("expected an integer or the name of one")),
        }
    }

    fn float<E: Error>(self) -> Result<Number<f64>, E> {
        match self {
            SymbolUnion::Name(name) => Ok(Number::Symbolic(name)),
            SymbolUnion::Float(f) => Ok(Number::Known(f.0)),
            SymbolUnion::Int(n) => Ok(Number::Known(n as f64)),
            SymbolUnion::Bool(_) => Err(E::custom("expected a number or the name of one")),
        }
    }

    fn bool<E: Error>(self) -> Result<Number<bool>, E> {
        match self {
            SymbolUnion::Name(name) => Ok(Number::Symbolic(name)),
            SymbolUnion::Bool(b) => Ok(Number::Known(b)),
            _ => Err(E::custom("expected a bool or the name of one")),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OptionalTensor {
    AsTensor(TensorName),
    AsNone(serde::de::IgnoredAny),
}

impl OptionalTensor {
    fn name(self) -> Option<String> {
        match self {
            OptionalTensor::AsTensor(t) => Some(t.name),
            OptionalTensor::AsNone(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ArgumentVisitor)
    }
}

struct ArgumentVisitor;

impl<'de> Visitor<'de> for ArgumentVisitor {
    type Value = Argument;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an argument: an object with one key such as \"as_tensor\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Argument, A::Error> {
        let Some(tag) = map.next_key::<String>()? else {
            return Err(A::Error::custom("an argument needs a key such as \"as_tensor\""));
        };
        let argument = match tag.as_str() {
            "as_none" => {
                map.next_value::<serde::de::IgnoredAny>()?;
                Argument::None
            }
            "as_tensor" => Argument::Tensor(map.next_value::<TensorName>()?.name),
            "as_tensors" => {
                Argument::Tensors(map.next_value::<Vec<TensorName>>()?.into_iter().map(|t| t.name).collect())
            }
            "as_optional_tensor" => match map.next_value::<OptionalTensor>()?.name() {
                Some(name) => Argument::Tensor(name),
                None => Argument::None,
            },
            "as_optional_tensors" => {
                let all = map.next_value::<Vec<OptionalTensor>>()?;
                Argument::OptionalTensors(all.into_iter().map(OptionalTensor::name).collect())
            }
            "as_int" => Argument::Int(Number::Known(map.next_value()?)),
            "as_ints" => Argument::Ints(map.next_value::<Vec<i64>>()?.into_iter().map(Number::Known).collect()),
            "as_sym_int" => Argument::Int(map.next_value::<SymbolUnion>()?.int()?),
            "as_sym_ints" => {
                let all = map.next_value::<Vec<SymbolUnion>>()?;
                Argument::Ints(all.into_iter().map(SymbolUnion::int).collect::<Result<_, A::Error>>()?)
            }
            "as_float" => Argument::Float(Number::Known(map.next_value::<Float>()?.0)),
            "as_floats" => {
                Argument::Floats(map.next_value::<Vec<Float>>()?.into_iter().map(|f| Number::Known(f.0)).collect())
            }
            "as_sym_float" => Argument::Float(map.next_value::<SymbolUnion>()?.float()?),
            "as_sym_floats" => {
                let all = map.next_value::<Vec<SymbolUnion>>()?;
                Argument::Floats(all.into_iter().map(SymbolUnion::float).collect::<Result<_, A::Error>>()?)
            }
            "as_bool" => Argument::Bool(Number::Known(map.next_value()?)),
            "as_bools" => Argument::Bools(map.next_value()?),
            "as_sym_bool" => Argument::Bool(map.next_value::<SymbolUnion>()?.bool()?),
            "as_string" => Argument::Str(map.next_value()?),
            "as_scalar_type" => Argument::ScalarType(map.next_value()?),
            "as_memory_format" => Argument::MemoryFormat(map.next_value()?),
            "as_layout" => {
                map.next_value::<serde::de::IgnoredAny>()?;
                Argument::Layout
            }
            "as_device" => Argument::Device(map.next_value()?),
            "as_graph" => Argument::Graph(map.next_value()?),
            "as_nested_tensors" => {
                let all = map.next_value::<Vec<Vec<TensorName>>>()?;
                Argument::NestedTensors(all.into_iter().map(|l| l.into_iter().map(|t| t.name).collect()).collect())
            }
            "as_string_to_argument" => {
                let all = map.next_value::<std::collections::BTreeMap<String, Argument>>()?;
                Argument::Map(all.into_iter().collect())
            }
            _ => {
                let text = map.next_value::<serde_json::Value>()?.to_string();
                Argument::Other(tag, text)
            }
        };
        match map.next_key::<String>()? {
            None => Ok(argument),
            Some(second) => Err(A::Error::custom(format!("an argument has one key, this one has `{second}` too"))),
        }
    }
}

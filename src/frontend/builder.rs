//! Lowers foreign nodes to nodes of the IR, whatever format they come from: names them, types them, keeps their origin, and
//! says what is wrong with them and where.

use std::path::{Path, PathBuf};

use smallvec::SmallVec;

use super::LoadError;
use super::names::Names;
use crate::ir::{AttrValue, Attrs, DType, Graph, GraphError, Number, Origin, TensorType, Value};
use crate::ops::shapes::normalize_dim;
use crate::ops::{self, CustomOp, OpDef};

/// What stands behind the path of a result for what its type does not say.
pub(super) const CONTEXT: &str = "(context)";

/// What a caller sees beside the pairs that complex numbers are.
pub(super) const COMPLEX: &str = "complex numbers";

/// Why a node cannot be taken over. [`Builder::refused`] adds the file and the node.
#[derive(Debug)]
pub(super) struct Refusal {
    pub reason: String,
    pub help: Option<String>,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Refusal { reason: reason.into(), help: None }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Refusal { help: Some(help.into()), ..self }
    }
}

impl From<GraphError> for Refusal {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Type { source, .. } => Refusal::new(source.to_string()),
            other => Refusal::new(other.to_string()),
        }
    }
}

/// The values that a node's outputs become, in order.
pub(super) type Values = SmallVec<[Value; 1]>;

/// What lowering a node gives: the output values, or `None` where the op table does not cover the call.
pub(super) type Converted = Result<Option<Values>, Refusal>;

/// The graph of one file under construction.
pub(super) struct Builder {
    file: PathBuf,
    pub graph: Graph,
    pub names: Names,
}

impl Builder {
    pub(super) fn new(file: &Path) -> Self {
        Builder { file: file.to_owned(), graph: Graph::new(file.display().to_string()), names: Names::default() }
    }

    /// The error for a node that calls `target`; inputs and outputs call nothing.
    pub(super) fn refused(&self, node: &str, target: &str, refusal: Refusal) -> LoadError {
        LoadError::Node {
            file: self.file.clone(),
            node: node.to_owned(),
            target: target.to_owned(),
            reason: refusal.reason,
            help: refusal.help,
        }
    }

    /// Compares the type that the file states for output `output` of a node with the one that the type rule gave.
    ///
    /// # Errors
    /// If they differ.
    pub(super) fn check_type(
        &self,
        node: &str,
        target: &str,
        output: &str,
        value: Value,
        stated: TensorType,
    ) -> Result<(), LoadError> {
        let inferred = self.graph.ty(value);
        if *inferred == stated {
            return Ok(());
        }
        Err(LoadError::TypeMismatch {
            file: self.file.clone(),
            node: node.to_owned(),
            target: target.to_owned(),
            value: output.to_owned(),
            stated: Box::new(stated),
            inferred: Box::new(inferred.clone()),
        })
    }

    /// Starts to lower a node. `name` is unique in the graph.
    pub(super) fn lower<'b>(&'b mut self, name: &'b str, origin: Origin) -> Lowering<'b> {
        Lowering { graph: &mut self.graph, names: &mut self.names, name, origin }
    }
}

/// One foreign node while it is lowered.
pub(super) struct Lowering<'b> {
    pub graph: &'b mut Graph,
    pub names: &'b mut Names,
    /// The unique name of the node.
    pub name: &'b str,
    pub origin: Origin,
}

impl Lowering<'_> {
    pub(super) fn ty(&self, value: Value) -> TensorType {
        self.graph.ty(value).clone()
    }

    pub(super) fn dtype(&self, value: Value) -> DType {
        self.graph.ty(value).dtype
    }

    pub(super) fn rank(&self, value: Value) -> usize {
        self.graph.ty(value).rank()
    }

    /// Dimension `dim` of `value`, counted from the front.
    pub(super) fn dim_of(&self, value: Value, dim: i64) -> Result<i64, Refusal> {
        normalize_dim(dim, self.rank(value))
            .map(|d| d as i64)
            .ok_or_else(|| Refusal::new(format!("has no dimension {dim} in {}", self.ty(value))))
    }

    /// Dimensions of `value`, counted from the front, as an attribute.
    pub(super) fn dims_of(&self, value: Value, dims: &[i64]) -> Result<AttrValue, Refusal> {
        Ok(AttrValue::Ints(dims.iter().map(|&d| self.dim_of(value, d)).collect::<Result<_, _>>()?))
    }

    /// The node that stands for the foreign one in reports: `op` of the table. `None` if the table lacks it.
    pub(super) fn emit(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        let Some(def) = ops::find(op) else { return Ok(None) };
        let (name, origin) = (self.name, self.origin.clone());
        let attrs = attributes(def, attrs)?;
        self.add(def, name, attrs, operands, origin).map(Some)
    }

    /// A node that the foreign node's kernel computes on the fly; `part` tells it from others of the kind.
    pub(super) fn implicit(
        &mut self,
        part: &str,
        op: &str,
        attrs: &[(&str, AttrValue)],
        operands: &[Value],
    ) -> Result<Value, Refusal> {
        let def = ops::find(op).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))?;
        let values = self.implicit_op(part, def, attributes(def, attrs)?, operands)?;
        values.first().copied().ok_or_else(|| Refusal::new(format!("makes `{op}` give nothing")))
    }

    /// As [`implicit`](Self::implicit), with all outputs and attributes in the order of the definition.
    pub(super) fn implicit_op(
        &mut self,
        part: &str,
        def: &'static OpDef,
        attrs: Attrs,
        operands: &[Value],
    ) -> Result<Values, Refusal> {
        let name = self.names.fresh(&format!("{}.{part}", self.name));
        let origin = Origin { implicit: true, ..self.origin.clone() };
        self.add(def, &name, attrs, operands, origin)
    }

    /// As [`implicit_op`](Self::implicit_op), for a node that costs what it costs elsewhere.
    pub(super) fn part(
        &mut self,
        part: &str,
        def: &'static OpDef,
        attrs: Attrs,
        operands: &[Value],
    ) -> Result<Values, Refusal> {
        let name = self.names.fresh(&format!("{}.{part}", self.name));
        let origin = self.origin.clone();
        self.add(def, &name, attrs, operands, origin)
    }

    /// As [`implicit`](Self::implicit), for a node that costs what it costs elsewhere.
    pub(super) fn step(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Result<Value, Refusal> {
        let def = ops::find(op).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))?;
        let values = self.part(op, def, attributes(def, attrs)?, operands)?;
        values.first().copied().ok_or_else(|| Refusal::new(format!("makes `{op}` give nothing")))
    }

    /// Says that a kernel computes `value`, which was made as an implicit node, with all that is implicit before it.
    pub(super) fn make_explicit(&mut self, value: Value) {
        self.graph.make_explicit(value.node);
    }

    /// The node as an operator that the table lacks: it equals only itself on equal operands.
    pub(super) fn opaque(
        &mut self,
        op: &str,
        attrs: Vec<(String, AttrValue)>,
        operands: &[Value],
        types: impl IntoIterator<Item = TensorType>,
    ) -> Result<Values, Refusal> {
        let (op, attrs) = CustomOp::called(op, attrs);
        let id = self.graph.add_custom(self.name, op, attrs, operands, types, self.origin.clone())?;
        Ok(self.outputs(id.into()))
    }

    /// `value` in element type `dtype`, cast on the fly if need be.
    pub(super) fn cast(&mut self, part: &str, value: Value, dtype: DType) -> Result<Value, Refusal> {
        if self.dtype(value) == dtype {
            return Ok(value);
        }
        self.implicit(part, "cast", &[("dtype", AttrValue::DType(dtype))], &[value])
    }

    /// A number beside a tensor of type `dtype`.
    pub(super) fn number(&mut self, part: &str, value: Number, dtype: DType) -> Result<Value, Refusal> {
        self.implicit(part, "number", &[("value", value.into()), ("dtype", AttrValue::DType(dtype))], &[])
    }

    fn add(
        &mut self,
        def: &'static OpDef,
        name: &str,
        attrs: Attrs,
        operands: &[Value],
        origin: Origin,
    ) -> Result<Values, Refusal> {
        let id = self.graph.add_op(name, def, attrs, operands, origin)?;
        Ok(self.outputs(id.into()))
    }

    fn outputs(&self, first: Value) -> Values {
        (0..self.graph.node(first.node).types.len() as u32).map(|slot| Value::new(first.node, slot)).collect()
    }
}

fn attributes(def: &'static OpDef, attrs: &[(&str, AttrValue)]) -> Result<Attrs, Refusal> {
    def.attrs(attrs).map_err(|e| Refusal::new(e.to_string()))
}

/// A dimension, size or other integer as an attribute.
pub(super) fn int(value: i64) -> AttrValue {
    AttrValue::Int(value)
}

/// A list of integers as an attribute.
pub(super) fn ints(values: &[i64]) -> AttrValue {
    AttrValue::Ints(SmallVec::from_slice(values))
}

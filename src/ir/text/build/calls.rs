//! Calls: operators, operands and attributes.

use miette::SourceSpan;
use smallvec::SmallVec;

use super::{Builder, Namer, Reported, graph_error};
use crate::ir::text::ast::{CallExpr, Number, Operand, Setting};
use crate::ir::text::attrs::{opaque_value, slice_bound, table_value};
use crate::ir::text::error::{MirError, nearest};
use crate::ir::{self, AttrValue, Attrs, DType, Graph, GraphError, NodeId, Origin, Value};
use crate::ops::{self, CustomOp, Default, Op, OpDef};

impl Builder<'_, '_> {
    /// Adds a call and the calls nested in it.
    pub(super) fn call(
        &mut self,
        call: &CallExpr,
        name: &str,
        origin: Origin,
        number: usize,
        namer: &mut Namer,
    ) -> Result<NodeId, Reported> {
        let Some(def) = ops::find(&call.op.text) else {
            let names = ops::all().map(|d| d.name);
            let help = nearest(&call.op.text, names).unwrap_or_else(|| {
                format!("an operator that is not in the table is written `opaque {:?}(…) -> type`", call.op.text)
            });
            let error = MirError::UnknownOp { name: call.op.text.to_string(), span: call.op.span, help: Some(help) };
            return Err(self.report(error));
        };
        let operands = self.operands(call, number, namer)?;
        let attrs = self.attrs(call, def, &operands)?;
        let added = self.graph.add_op(name, def, attrs, &operands, origin);
        added.map_err(|e| self.report(graph_error(&e, call.span)))
    }

    pub(super) fn opaque(
        &mut self,
        call: &CallExpr,
        number: usize,
        namer: &mut Namer,
    ) -> Result<(Op, Attrs, Operands), Reported> {
        let operands = self.operands(call, number, namer)?;
        let mut attrs = Vec::new();
        for setting in &call.attrs {
            self.refuse_repeat(setting, &call.attrs)?;
            let value = opaque_value(&setting.value).map_err(|reason| {
                let op = call.op.text.to_string();
                self.report(MirError::AttributeValue { op, reason, span: setting.span, help: None })
            })?;
            attrs.push((setting.name.text.to_string(), value));
        }
        let (op, attrs) = CustomOp::called(&call.op.text, attrs);
        Ok((op, attrs, operands))
    }

    fn refuse_repeat(&mut self, setting: &Setting, all: &[Setting]) -> Result<(), Reported> {
        match all.iter().find(|s| s.name.text == setting.name.text) {
            Some(first) if first.name.span != setting.name.span => {
                let name = setting.name.text.to_string();
                Err(self.report(MirError::AttributeTwice { name, span: setting.name.span }))
            }
            _ => Ok(()),
        }
    }

    fn operands(&mut self, call: &CallExpr, number: usize, namer: &mut Namer) -> Result<Operands, Reported> {
        let mut values: SmallVec<[Result<Value, (Number, SourceSpan)>; 4]> = SmallVec::new();
        let mut broken = false;
        for operand in &call.operands {
            let value = match operand {
                Operand::Scalar(v, span) => {
                    values.push(Err((*v, *span)));
                    continue;
                }
                Operand::Name(name) => self.lookup(name, Some(number)),
                Operand::Call(inner) => self.nested(inner, number, namer),
            };
            match value {
                Ok(value) => values.push(Ok(value)),
                Err(Reported) => broken = true,
            }
        }
        if broken {
            return Err(Reported);
        }
        let dtypes = values.iter().filter_map(|v| v.as_ref().ok()).map(|&v| self.graph.ty(v).dtype);
        let anchor = scalar_dtype(dtypes);
        values.into_iter().map(|v| v.or_else(|(number, span)| self.scalar(number, span, anchor, namer))).collect()
    }

    fn nested(&mut self, call: &CallExpr, number: usize, namer: &mut Namer) -> Result<Value, Reported> {
        let name = namer.fresh(&self.taken);
        let node = self.call(call, &name, Origin::default(), number, namer)?;
        match self.graph.node(node).types.len() {
            1 => Ok(node.into()),
            found => {
                let what = format!("`{}`", call.op.text);
                let help = Some("give its outputs names in a statement of their own".to_owned());
                Err(self.report(MirError::OutputCount { what, found, named: 1, span: call.span, help }))
            }
        }
    }

    /// A number in operand position becomes a node that is no operator of the file.
    fn scalar(
        &mut self,
        number: Number,
        span: SourceSpan,
        anchor: Option<DType>,
        namer: &mut Namer,
    ) -> Result<Value, Reported> {
        let value = number.value();
        let natural = if let Number::Bool(_) = number { DType::Bool } else { natural_dtype(value) };
        let dtype = anchor.unwrap_or(natural);
        if dtype.number(value).is_none() {
            let reason = format!("{value} stands next to operands of type {dtype}");
            let help = Some("cast them to a floating-point type first, as PyTorch does".to_owned());
            return Err(self.report(MirError::Type { reason, span, help }));
        }
        let name = namer.fresh(&self.taken);
        let node = add_scalar(&mut self.graph, &name, value, dtype);
        node.map(Value::from).map_err(|e| self.report(graph_error(&e, span)))
    }

    fn attrs(&mut self, call: &CallExpr, def: &'static OpDef, operands: &[Value]) -> Result<Attrs, Reported> {
        let first = operands.first().map(|&v| self.graph.ty(v).clone());
        let mut values: SmallVec<[Option<AttrValue>; 4]> = def.attrs.iter().map(|a| a.default.value()).collect();
        let mut broken = false;
        for setting in &call.attrs {
            if self.refuse_repeat(setting, &call.attrs).is_err() {
                broken = true;
                continue;
            }
            let Some((i, attr)) = def.attrs.iter().enumerate().find(|(_, a)| a.name == setting.name.text) else {
                let (op, name) = (def.name.to_owned(), setting.name.text.to_string());
                let known = || def.attrs.iter().map(|a| a.name);
                let list = || match known().collect::<Vec<_>>() {
                    all if all.is_empty() => format!("`{op}` has no attributes"),
                    all => format!("its attributes are {}", all.join(", ")),
                };
                let help = Some(nearest(&name, known()).unwrap_or_else(list));
                self.errors.push(MirError::UnknownAttribute { op, name, span: setting.name.span, help });
                broken = true;
                continue;
            };
            match table_value(def, attr, &setting.value, first.as_ref()) {
                Ok(value) => values[i] = Some(value),
                Err(reason) => {
                    let op = def.name.to_owned();
                    self.errors.push(MirError::AttributeValue { op, reason, span: setting.span, help: None });
                    broken = true;
                }
            }
        }
        if def.name == "slice" {
            let dim = def.attr_index("dim").and_then(|i| values[i].clone());
            for bound in ["start", "end"] {
                if let Some(i) = def.attr_index(bound) {
                    values[i] = values[i].take().map(|v| slice_bound(v, dim.as_ref(), first.as_ref()));
                }
            }
        }
        for (attr, value) in def.attrs.iter().zip(&values) {
            let refused = call.attrs.iter().any(|s| s.name.text == attr.name);
            if value.is_none() && !refused && attr.default == Default::Required {
                let (op, reason) = (def.name.to_owned(), format!("needs the attribute `{}`", attr.name));
                let help = Some("attributes stand behind the operands: `op(x; name=value)`".to_owned());
                self.errors.push(MirError::AttributeValue { op, reason, span: call.span, help });
                broken = true;
            }
        }
        let values = values.into_iter().collect::<Option<Attrs>>();
        values.filter(|_| !broken).ok_or(Reported)
    }
}

type Operands = SmallVec<[Value; 4]>;

/// The element type of scalar operands: that of the first tensor that is not bool; with bool tensors only, none.
pub(crate) fn scalar_dtype(mut tensors: impl Iterator<Item = DType>) -> Option<DType> {
    tensors.find(|&d| d != DType::Bool)
}

/// The element type of a scalar that no tensor stands next to.
pub(crate) fn natural_dtype(number: ir::Number) -> DType {
    match number {
        ir::Number::Int(_) => DType::I64,
        ir::Number::Float(_) => DType::F32,
    }
}

/// The implicit node of a scalar operand.
fn add_scalar(graph: &mut Graph, name: &str, value: ir::Number, dtype: DType) -> Result<NodeId, GraphError> {
    let (op, attrs) = ops::number(value, dtype);
    graph.add_op(name, op, attrs, &[], Origin::implicit())
}

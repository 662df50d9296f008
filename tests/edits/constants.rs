//! Whether two graphs hold different masks.

use rustc_hash::FxHashMap;

use magneton_ir::eval::{Constant, fold};
use magneton_ir::ir::{DType, Graph, NodeKind, TensorType, Value, unflatten};
use magneton_ir::ops::{Call, Op};

/// Elements of a mask that are compared.
const LIMIT: usize = 1 << 22;

/// Whether some mask that operators read, of the same name in both graphs, has an element that differs. False
/// where that cannot be told.
pub(super) fn differ(a: &Graph, b: &Graph) -> bool {
    let (left, right) = (masks(a), masks(b));
    left.into_iter().any(|(name, (ty, x))| {
        let Some((_, y)) = right.get(name) else { return false };
        (0..ty.numel().min(LIMIT)).any(|flat| {
            let index = unflatten(&ty.shape, flat);
            x.at(ty, &index) != y.at(ty, &index)
        })
    })
}

/// The values of a graph that are known as formulas.
pub(super) fn folded(graph: &Graph) -> FxHashMap<Value, Constant> {
    let mut constants: FxHashMap<Value, Constant> = FxHashMap::default();
    for (id, node) in graph.nodes() {
        let NodeKind::Op { op: Op::Table(op), attrs } = &node.kind else { continue };
        let operands = graph.operands(id);
        let known: Option<Vec<&Constant>> = operands.iter().map(|v| constants.get(v)).collect();
        let types: Vec<&TensorType> = operands.iter().map(|&v| graph.ty(v)).collect();
        let call = Call { op, attrs, operands: &types };
        let constant = known.and_then(|known| fold(&call, 0, &known, &node.types[0]));
        constants.extend(constant.map(|c| (Value::from(id), c.value)));
    }
    constants
}

/// Bool constants that something reads which is no such constant itself, by name.
fn masks(graph: &Graph) -> FxHashMap<&str, (&TensorType, Constant)> {
    let mut constants = folded(graph);
    let is_mask = |value: &Value| {
        let folded =
            |user| constants.contains_key(&Value::from(user)) && graph.node(user).types[0].dtype == DType::Bool;
        graph.ty(*value).dtype == DType::Bool && graph.users(value.node).any(|user| !folded(user))
    };
    let masks: Vec<Value> = constants.keys().copied().filter(is_mask).collect();
    masks.into_iter().filter_map(|v| Some((&*graph.node(v.node).name, (graph.ty(v), constants.remove(&v)?)))).collect()
}

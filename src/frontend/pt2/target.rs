//! What a node of the file calls: the parts of an operator's name, and what the name alone says of it.

use super::argument::Argument;
use super::schema::Node;

/// The parts of an operator's full name, `torch.ops.aten.add.Tensor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// Empty for the default overload.
    pub overload: &'a str,
}

impl<'a> Target<'a> {
    pub(super) fn of(target: &'a str) -> Self {
        let path = target.strip_prefix("torch.ops.").unwrap_or(target);
        let (namespace, rest) = path.split_once('.').unwrap_or(("", path));
        let (name, overload) = rest.split_once('.').unwrap_or((rest, ""));
        Target { namespace, name, overload: if overload == "default" { "" } else { overload } }
    }

    /// Whether a schema of PyTorch's own says what the operator writes.
    pub(super) fn is_pytorch(self) -> bool {
        matches!(self.namespace, "aten" | "prims" | "higher_order" | "quantized" | "_quantized" | "")
    }

    /// The name as schemas have it: `aten.add.Tensor`, `aten.relu`.
    pub(super) fn full_name(self) -> String {
        match self {
            Target { namespace: "", name, .. } => name.to_owned(),
            // Variants of one kernel, which `magneton_ir.record` numbers as it meets them: their attributes tell them apart.
            Target { namespace: "triton", name, .. } => format!("triton.{name}"),
            Target { namespace, name, overload: "" } => format!("{namespace}.{name}"),
            Target { namespace, name, overload } => format!("{namespace}.{name}.{overload}"),
        }
    }
}

/// Calls a Triton kernel on copies of the tensors that it writes, and gives their new contents.
pub(super) const TRITON: &str = "torch.ops.higher_order.triton_kernel_wrapper_functional";

/// Whether the operator only checks something that the export already knew.
pub(super) fn is_check(target: &str) -> bool {
    let Target { namespace, name, .. } = Target::of(target);
    namespace == "aten" && (name.starts_with("_assert") || name.starts_with("sym_constrain_range"))
}

/// Whether all that the operator does is to give numbers: sizes, elements as numbers, arithmetic of these.
pub(super) fn gives_only_numbers(node: &Node) -> bool {
    let Target { namespace, name, .. } = Target::of(&node.target);
    let is_number = |output: &Argument| output.symbol().is_some();
    let of_pytorch = match namespace {
        "aten" => matches!(name, "item" | "_local_scalar_dense") || name.starts_with("sym_"),
        "torch" => name.starts_with("sym_"),
        "_operator" | "math" => true,
        _ => false,
    };
    of_pytorch && !node.outputs.is_empty() && node.outputs.iter().all(is_number)
}

/// Whether the operator computes what the graph in its arguments computes, and nothing else.
pub(super) fn is_transparent(target: &str) -> bool {
    matches!(
        target.strip_prefix("torch.ops.higher_order."),
        Some(
            "wrap_with_set_grad_enabled"
                | "wrap_with_autocast"
                | "wrap"
                | "wrap_activation_checkpoint"
                | "tag_activation_checkpoint"
                | "invoke_subgraph"
        )
    )
}

"""Writes `src/ops/effects.txt` and `src/frontend/pt2/autocast.txt`: what PyTorch's operators do besides computing their
results, and what autocast does to their arguments.

Needs torch 2.11. The files are checked in; run this for a newer PyTorch only.
"""

import pathlib
import re

import torch

ROOT = pathlib.Path(__file__).parent.parent.parent
NAMESPACES = ("aten", "prims", "quantized", "_quantized", "rngprims", "mkldnn")

# An operator that draws does so only if all of these arguments are neither 0 nor false. `none` says that an argument that is
# none counts as true.
CONDITIONS = {
    "dropout": ["p", "train"], "dropout_": ["p", "train"],
    "feature_dropout": ["p", "train"], "feature_dropout_": ["p", "train"],
    "alpha_dropout": ["p", "train"], "alpha_dropout_": ["p", "train"],
    "feature_alpha_dropout": ["p", "train"], "feature_alpha_dropout_": ["p", "train"],
    "native_dropout": ["p", "train|none"],
    "rrelu": ["training"], "rrelu_": ["training"],
    "rrelu_with_noise": ["training"], "rrelu_with_noise_": ["training"], "rrelu_with_noise_functional": ["training"],
    "lstm": ["dropout", "train"], "gru": ["dropout", "train"], "rnn_tanh": ["dropout", "train"], "rnn_relu": ["dropout", "train"],
    "_cudnn_rnn": ["dropout", "train"], "miopen_rnn": ["dropout", "train"], "_lstm_mps": ["dropout", "train"],
    "scaled_dot_product_attention": ["dropout_p"],
    "_scaled_dot_product_attention_math": ["dropout_p"],
    "_scaled_dot_product_attention_math_for_mps": ["dropout_p"],
    "_scaled_dot_product_cudnn_attention": ["dropout_p"],
    "_scaled_dot_product_efficient_attention": ["dropout_p"],
    "_scaled_dot_product_flash_attention": ["dropout_p"],
    "_scaled_dot_product_flash_attention_for_cpu": ["dropout_p"],
    "_scaled_dot_product_fused_attention_overrideable": ["dropout_p"],
    "_triton_scaled_dot_attention": ["dropout_p"],
    "_efficient_attention_forward": ["dropout_p"],
    "_flash_attention_forward": ["dropout_p"],
    "_cudnn_attention_forward": ["dropout_p"],
}

# Tagged as random, but they read only what is drawn elsewhere.
DRAW_NOTHING = {
    "_cudnn_attention_backward", "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_efficient_attention_backward", "_fused_sdp_choice", "_nested_tensor_softmax_with_shape",
}

# Random without a tag or a generator, or memory as it is found.
DRAW = {
    "quantized::dropout": ["p", "training"],
    "aten::quantized_lstm": ["dropout", "train"], "aten::quantized_gru": ["dropout", "train"],
    "aten::empty": [], "aten::empty_like": [], "aten::empty_strided": [], "aten::empty_permuted": [], "aten::empty_quantized": [],
    "aten::new_empty": [], "aten::new_empty_strided": [], "aten::_empty_affine_quantized": [],
    "aten::_empty_per_channel_affine_quantized": [], "aten::resize": [], "aten::resize_": [], "aten::resize_as": [],
    "aten::resize_as_": [], "aten::_resize_output": [], "aten::_resize_output_": [],
    "prims::empty_strided": [], "prims::empty_permuted": [], "prims::resize": [],
}

# Statistics that are written without a word in the schema, or only under a condition.
STATISTICS = ["running_mean", "running_var"]
WRITES = {
    "aten::batch_norm": (STATISTICS, "training"),
    "aten::native_batch_norm": (STATISTICS, "training"),
    "aten::_native_batch_norm_legit": (STATISTICS, "training"),
    "aten::_batch_norm_impl_index": (STATISTICS, "training"),
    "aten::cudnn_batch_norm": (STATISTICS, "training"),
    "aten::miopen_batch_norm": (STATISTICS, "training"),
    "aten::instance_norm": (STATISTICS, "use_input_stats"),
    "aten::batch_norm_update_stats": (STATISTICS, None),
    "aten::batch_norm_gather_stats": (STATISTICS, None),
    "aten::batch_norm_gather_stats_with_counts": (STATISTICS, None),
    "aten::rrelu_with_noise": (["noise"], "training"),
    "aten::native_batch_norm.out": (["out", "save_mean", "save_invstd", *STATISTICS], None),
    "aten::cudnn_batch_norm.out": (["out0", "out1", "out2", "out3", *STATISTICS], None),
    "aten::miopen_batch_norm.out": (["out0", "out1", "out2", *STATISTICS], None),
}

# Their results share no memory with their arguments, which the schema of an operator that is made of others does not promise.
FRESH = {
    "aten::batch_norm", "aten::instance_norm", "aten::_batch_norm_impl_index", "aten::rrelu", "aten::lstm", "aten::gru",
    "aten::rnn_tanh", "aten::rnn_relu",
}

# Made of others of which none is in a list of autocast: views, other names, conversions.
PLAIN = """
    adjoint align_as align_tensors align_to atleast_1d atleast_2d atleast_3d argsort broadcast_tensors broadcast_to can_cast
    cat chunk clip column_stack concat concatenate conj contiguous detach_copy diff divide
    dropout dsplit dstack expand_as feature_dropout alpha_dropout feature_alpha_dropout fix flatten fliplr flipud floor_divide
    greater greater_equal gradient hsplit hstack imag index_select_backward is_complex is_floating_point is_nonzero
    isfinite isreal item kron less less_equal linalg_diagonal mH mT masked_select_backward matrix_H meshgrid movedim moveaxis
    msort multiply narrow negative not_equal numel numpy_T one_hot outer pad positive ravel real relu6 repeat_interleave reshape
    reshape_as resolve_conj resolve_neg row_stack selu size slice_inverse special_expit split squeeze std stride
    subtract swapaxes swapdims sym_numel sym_size sym_storage_offset sym_stride take_along_dim tensor_split tile
    to to_dense true_divide type_as unbind unflatten value_selecting_reduction_backward var view_as
    vsplit vstack where silu hardsigmoid max min all any dtype device layout __and__ __or__ __xor__ __iand__ __ior__ __ixor__
    __lshift__ __rshift__ split_with_sizes bitwise_or bitwise_and bitwise_xor _cast_Float avg_pool1d adaptive_avg_pool1d
    adaptive_avg_pool2d max_pool1d max_pool2d mean embedding _reshape_from_tensor data batch_norm instance_norm
    softmax log_softmax var_mean std_mean absolute
""".split()

PLAIN_ON_CPU = "rms_norm square layer_norm group_norm sum_to_size cosine_similarity weight_norm _weight_norm".split()

CPU_LOW = """
    conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding bmm mm linalg_vecdot baddbmm addmm _addmm_activation addbmm
    linear _convolution.deprecated matmul conv_tbc mkldnn_rnn_layer conv_transpose1d conv_transpose2d.input conv_transpose3d.input
    prelu scaled_dot_product_attention _native_multi_head_attention
""".split()
CPU_WIDEST = "stack cat index_copy index_copy.dimname".split()


def overload(schema):
    namespace, name = schema.name.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), name), schema.overload_name or "default")


def full_name(schema):
    return schema.name + (f".{schema.overload_name}" if schema.overload_name else "")


def schemas():
    """Of all operators that a graph can call."""
    known = set(torch._C._dispatch_get_all_op_names())
    return [s for s in torch._C._jit_get_all_schemas() if full_name(s) in known]


def effects(schema):
    """The effects of an operator as words: `draw`, `write=ARGUMENTS`, both with a condition, `view=ARGUMENT`, `shape`, `fresh`."""
    namespace, base = schema.name.split("::")
    tags = overload(schema).tags
    names = {a.name for a in schema.arguments}
    words = []
    condition = CONDITIONS.get(base, [])
    seeded = torch.Tag.nondeterministic_seeded in tags or any("Generator" in str(a.type) for a in schema.arguments)
    if seeded and base not in DRAW_NOTHING:
        words.append("draw" + (f"?{','.join(condition)}" if condition else ""))
        assert {c.split("|")[0] for c in condition} <= names, schema
    elif schema.name in DRAW and "out" not in names:
        condition = DRAW[schema.name]
        words.append("draw" + (f"?{','.join(condition)}" if condition else ""))
    writes = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    conditional = None
    if full_name(schema) in WRITES and set(WRITES[full_name(schema)][0]) <= names:
        writes, conditional = WRITES[full_name(schema)]
    if writes:
        words.append(f"write={','.join(writes)}" + (f"?{conditional}" if conditional else ""))
    if torch.Tag.inplace_view in tags:
        words.append("shape")
    elif not writes or conditional:
        sources = [a.name for a in schema.arguments if a.alias_info and not a.alias_info.is_write]
        if any(r.alias_info for r in schema.returns) and sources:
            words.append(f"view={','.join(sources)}")
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(full_name(schema), "CompositeImplicitAutograd")
    returns_own = any(r.alias_info is None for r in schema.returns)
    if words and returns_own and (not composite or schema.name in FRESH) and not any(w.startswith("view") for w in words):
        words.append("fresh")
    return [] if words == ["fresh"] else words


def autocast():
    """What autocast does per operator: `low` and `f32` cast arguments to the lower type and to f32, `type` makes f32 the result
    type where none is given, `widest` casts to the widest type, `inside` says that the operator is made of such operators."""
    header = pathlib.Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
    text = header.read_text().replace("\\\n", " ")
    found = {}

    def note(name, device, policy):
        found.setdefault(name, {})[device] = policy

    lists = {"LOWER_PRECISION_FP": "low", "FP32": "f32", "FP32_SET_OPT_DTYPE": "type", "PROMOTE": "widest"}
    for macro, policy in lists.items():
        body = re.search(rf"#define AT_FORALL_{macro}\(_\)(.*)", text).group(1)
        for name, extra in re.findall(r"_\((\w+)(?:, (\w+))?\)", body):
            note(f"{name}.{extra}" if extra else name, "cuda", policy)
    for name in ("cudnn_convolution", "cudnn_convolution_transpose"):
        note(name, "cuda", "low")
    # Their f32 result type is an argument that they do not take here.
    for name in ("norm.Scalar", "norm.ScalarOpt_dim", "norm.names_ScalarOpt_dim", "binary_cross_entropy"):
        note(name, "cuda", "inside")
    aten = [s for s in schemas() if s.name.startswith("aten::")]
    for schema in aten:
        name = full_name(schema).removeprefix("aten::")
        if torch._C._dispatch_has_kernel_for_dispatch_key(full_name(schema), "AutocastCPU"):
            note(name, "cpu", "low" if name in CPU_LOW else "widest" if name in CPU_WIDEST else "f32")
        has_cuda = torch._C._dispatch_has_kernel_for_dispatch_key(full_name(schema), "AutocastCUDA")
        assert has_cuda or "cuda" not in found.get(name, {}), name
        if has_cuda and "cuda" not in found.get(name, {}):
            note(name, "cuda", "inside")
    assert all(found[name]["cpu"] == "low" for name in CPU_LOW) and all(found[n]["cpu"] == "widest" for n in CPU_WIDEST)
    for schema in aten:
        name = full_name(schema).removeprefix("aten::")
        tensors = any("Tensor" in str(a.type) for a in schema.arguments)
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(full_name(schema), "CompositeImplicitAutograd")
        base = name.split(".")[0]
        base = base if base.endswith("__") else base.removesuffix("_")
        if composite and tensors and base not in PLAIN:
            for device in ("cuda",) if base in PLAIN_ON_CPU else ("cpu", "cuda"):
                found.setdefault(name, {}).setdefault(device, "inside")
    return [f"{name} " + " ".join(f"{d}={p}" for d, p in sorted(where.items())) for name, where in sorted(found.items())]


def main():
    lines = []
    for schema in schemas():
        if schema.name.split("::")[0] in NAMESPACES:
            words = effects(schema)
            if words:
                lines.append(f"{full_name(schema).replace('::', '.')} {' '.join(words)}")
    (ROOT / "src/ops/effects.txt").write_text("\n".join(sorted(set(lines))) + "\n")
    (ROOT / "src/frontend/pt2/autocast.txt").write_text("\n".join(autocast()) + "\n")


if __name__ == "__main__":
    main()

//! Operators of PyTorch that are others under a second name, with the same arguments.

use super::super::target::Target;

/// The operator under the name that the families know, and that it gets where it stays opaque.
pub(super) fn usual(target: Target) -> Target {
    if target.namespace != "aten" {
        return target;
    }
    let name = match target.name {
        "special_expit" => "sigmoid",
        "special_psi" | "special_digamma" => "digamma",
        "special_multigammaln" => "mvlgamma",
        "special_gammainc" => "igamma",
        "special_gammaincc" => "igammac",
        "special_erf" => "erf",
        "special_expm1" => "expm1",
        "special_i0" => "i0",
        "special_log1p" => "log1p",
        "special_logit" => "logit",
        "special_logsumexp" => "logsumexp",
        "special_polygamma" => "polygamma",
        "special_round" => "round",
        "special_sinc" => "sinc",
        "special_softmax" => "softmax",
        "special_log_softmax" => "log_softmax",
        "inverse" => "linalg_inv",
        "matrix_exp" => "linalg_matrix_exp",
        "orgqr" => "linalg_householder_product",
        "absolute" => "abs",
        "negative" => "neg",
        "row_stack" => "vstack",
        "unsafe_chunk" => "chunk",
        "unsafe_split" => "split",
        "unsafe_split_with_sizes" => "split_with_sizes",
        "diagonal_copy" => "diagonal",
        "unfold_copy" => "unfold",
        "as_strided_copy" => "as_strided",
        name => name,
    };
    Target { name, ..target }
}

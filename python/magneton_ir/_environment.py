"""What decides which kernels run and is no part of a graph: flags of the process, and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from typing import Any

PACKAGES = ("torch", "transformers", "diffusers", "timm", "torchvision", "triton", "jax", "flash-attn", "vllm", "sglang")

# Variables that change kernels or the precision of PyTorch, cuBLAS and cuDNN.
PREFIXES = ("TORCH_", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_", "NCCL_", "TRITON_", "VLLM_", "XLA_", "JAX_", "OMP_")
# Their names say so, and their values are nobody's business.
SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD")


def environment() -> dict[str, object]:
    """The state of this process: PyTorch's math flags, autocast, variables, versions. Only what PyTorch that is loaded has."""
    import torch

    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    backends = ("flash", "mem_efficient", "math", "cudnn")
    state: dict[str, object] = {
        "python": platform.python_version(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cuda.matmul.allow_tf32": bool(cuda.matmul.allow_tf32),
        "cudnn.allow_tf32": bool(cudnn.allow_tf32),
        "cudnn.benchmark": bool(cudnn.benchmark),
        "cudnn.deterministic": bool(cudnn.deterministic),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "grad_enabled": torch.is_grad_enabled(),
        "autocast": [kind for kind in ("cuda", "cpu") if torch.is_autocast_enabled(kind)],
    }
    for name in backends:
        enabled = getattr(cuda, f"{name}_sdp_enabled", None)
        if enabled is not None:
            state[f"sdpa.{name}"] = bool(enabled())
    state["versions"] = {name: version for name in PACKAGES if (version := _version(name))}
    state["variables"] = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(PREFIXES) and not any(word in name for word in SECRET)
    }
    return state


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def flags(state: Mapping[str, object]) -> dict[str, Any]:
    """The flags that the command knows and that are not PyTorch's defaults."""
    found: dict[str, Any] = {}
    if state.get("cuda.matmul.allow_tf32") is True:
        found["allow_tf32"] = True
    if state.get("cudnn.allow_tf32") is False:
        found["cudnn_tf32_off"] = True
    return found

"""What decides which kernels run and is no part of a graph: flags of the process, and versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path

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


#: Where it lies in an archive of `torch.export`, behind the folder of extra files.
MEMBER = "magneton_ir/environment.json"
#: The most bytes of it that are read, as in the command.
MAX_BYTES = 1 << 20


def of_file(path: Path) -> Mapping[str, object]:
    """What a file says of the process that wrote it; empty where it does not."""
    try:
        with zipfile.ZipFile(path) as archive:
            member = next((one for one in archive.infolist() if one.filename.endswith(f"extra/{MEMBER}")), None)
            if member is None or member.file_size > MAX_BYTES:
                return {}
            found = json.loads(archive.read(member))
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile):
        # The command says what is wrong with the file.
        return {}
    return found if isinstance(found, dict) else {}

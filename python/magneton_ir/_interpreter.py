"""What all threads of a process share: the state of Python and of PyTorch."""

from __future__ import annotations

import threading

import torch

# Exporting, recording, saving and loading change the state of the interpreter, of which there is one.
lock = threading.RLock()


def _keep_device_guard() -> None:
    """Sets PyTorch's guard for CUDA devices from a thread that never ends.

    Where there is no CUDA device, the first entry into a fake tensor mode sets a guard that does nothing and that dies with the
    thread (seen in PyTorch 2.11): later entries, from any thread, then end the process.
    """
    set_guard = getattr(torch._C, "_ensureCUDADeviceGuardSet", None)
    if set_guard is None:
        return
    if threading.current_thread() is threading.main_thread():
        set_guard()
        return
    is_set = threading.Event()

    def stay() -> None:
        set_guard()
        is_set.set()
        threading.Event().wait()

    threading.Thread(target=stay, name="magneton-ir device guard", daemon=True).start()
    is_set.wait()


_keep_device_guard()

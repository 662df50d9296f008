"""Runs operators for `magneton-ir measure`, which plans what runs and reads the energy meter meanwhile.

The command starts this text with the interpreter that it measures with: `python -c TEXT DEVICE`. Nothing but PyTorch has to be installed there.
Requests come as JSON objects, one a line: `do` names a method of `Device`, everything else is its arguments. Each gets one line back: what the method
gives, or `failed` with the reason; `over` says that nothing runs on the device any more, and the process ends. The first line comes unasked.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import json
import os
import signal
import sys
import time
from typing import Any

# Newer ones keep what this text calls.
OLDEST = (2, 5)

WARM_UP_SIZE = 4096
WARM_UP_BATCH = 50


class Driver:
    """CUDA graphs by the interface of the driver.

    PyTorch's own graphs take their memory from a pool that is filled anew for each of them. Here a graph uses the memory that the same calls use
    without one: memory that the driver has just handed out is slower for seconds.
    """

    RELAXED = 2

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: Any) -> bool:
        return int(getattr(self.library, name)(*arguments)) == 0

    def bus_id(self, number: int) -> str | None:
        """Where a GPU sits, such as `0000:1b:00.0`; the number is one among those that CUDA sees."""
        device, text = ctypes.c_int(), ctypes.create_string_buffer(32)
        found = self.call("cuInit", 0) and self.call("cuDeviceGet", ctypes.byref(device), number)
        return text.value.decode() if found and self.call("cuDeviceGetPCIBusId", text, len(text), device) else None

    def record(self, stream: int, work: Any) -> ctypes.c_void_p | None:
        """What `work` sends to a stream, ready to be launched; none of it runs. None where it cannot be recorded."""
        if not self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), self.RELAXED):
            return None
        try:
            work()
            done = True
        except Exception:
            done = False
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        done = self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph)) and done
        if graph:
            done = done and self.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
            self.call("cuGraphDestroy", graph)
        return executable if done and executable else None


class Load:
    """A program with rotating sets of operands."""

    def __init__(self, forward: Any, sets: list[list[Any]], constants: list[Any], kept: list[Any]) -> None:
        self.forward = forward
        self.sets = [(*operands, *constants) for operands in sets]
        self.next = 0
        # Results stay for a while, so that consecutive executions write to different memory.
        self.results: collections.deque[Any] = collections.deque(maxlen=len(sets))
        # Memory that neither operands nor results get.
        self.kept = kept
        self.recorded: ctypes.c_void_p | None = None

    def once(self) -> Any:
        result = self.forward(*self.sets[self.next])
        self.next = (self.next + 1) % len(self.sets)
        self.results.append(result)
        return result

    def several(self, times: int) -> None:
        for _ in range(times):
            self.once()


class Device:
    def __init__(self, name: str) -> None:
        import torch

        version = tuple(int(part) for part in torch.__version__.split(".")[:2])
        if version < OLDEST:
            raise RuntimeError(f"PyTorch {torch.__version__} is too old, {OLDEST[0]}.{OLDEST[1]} is needed")
        self.torch = torch
        self.device = torch.device(name)
        self.load_: Load | None = None
        self.driver: Driver | None = None
        self.stream = 0
        torch.set_grad_enabled(False)
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
            torch.zeros(8, device=self.device)
            self.driver = Driver()
            # What goes to the default stream cannot be recorded.
            stream = torch.cuda.Stream(self.device)
            torch.cuda.set_stream(stream)
            self.stream = stream.cuda_stream

    def greeting(self) -> dict[str, Any]:
        torch = self.torch
        bus_id = self.driver.bus_id(self.device.index or 0) if self.driver else None
        return {"torch": torch.__version__.split("+")[0], "cuda": torch.version.cuda or "", "bus_id": bus_id, "process": os.getpid()}

    def synchronize(self) -> dict[str, Any]:
        if self.driver:
            self.torch.cuda.synchronize(self.device)
        return {}

    def works(self) -> bool:
        """After a failure: whether the device still computes. A fault on it leaves every later call failing."""
        try:
            self.torch.zeros(8, device=self.device).sum()
            self.synchronize()
        except Exception:
            return False
        return True

    def take_memory(self, bytes: int) -> dict[str, Any]:
        """Has PyTorch ask the driver for the memory that loads may use, and keep it: memory is slower for seconds after that."""
        self.torch.zeros(bytes, dtype=self.torch.uint8, device=self.device)
        return self.synchronize()

    def warm_up(self, seconds: float) -> dict[str, Any]:
        torch = self.torch
        x = torch.randn(WARM_UP_SIZE, WARM_UP_SIZE, dtype=torch.bfloat16, device=self.device)
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            for _ in range(WARM_UP_BATCH):
                torch.matmul(x, x)
            self.synchronize()
        return {}

    def block(self, bytes: int) -> list[Any]:
        """Memory that nothing uses; none where there is too little."""
        try:
            return [self.torch.empty(bytes, dtype=self.torch.uint8, device=self.device)]
        except Exception:
            return []

    def operand(
        self, dtype: str, shape: list[int], strides: list[int], span: int, on_host: bool, is_parameter: bool, contents: dict[str, Any]
    ) -> Any:
        torch = self.torch
        kind, device = getattr(torch, dtype), torch.device("cpu") if on_host else self.device
        ((what, how),) = contents.items()
        if what in ("starts", "ends"):
            count = max(1, torch.Size(shape).numel())
            positions = [(i + (what == "ends")) * how // count for i in range(count)]
            return torch.tensor(positions).reshape(shape).to(kind).to(device)
        if what == "normal":
            # There are no random numbers in the types of a byte.
            drawn = torch.float32 if kind.itemsize == 1 else kind
            flat = torch.randn(span, dtype=drawn, device=device)
            flat = flat if how["deviation"] == 1.0 else flat * how["deviation"]
            flat = flat if how["mean"] == 0.0 else flat + how["mean"]
        else:
            # A number of the source may be what is divided by.
            least = 1 if on_host and kind != torch.bool else 0
            drawn = torch.uint8 if kind == torch.bool else kind
            flat = torch.randint(least, max(how, least + 1), (span,), dtype=drawn, device=device)
        # Views of a parameter ask what it is a view of whether it needs gradients.
        return torch.as_strided(flat.to(kind), shape, strides).detach().requires_grad_(is_parameter)

    def load(
        self,
        program: str,
        operands: list[dict[str, Any]],
        gaps: list[list[int]],
        spacers: list[int],
        tf32: list[bool],
        results: list[list[Any]],
    ) -> dict[str, Any]:
        """Makes a program and its operands ready, runs it once, and wants the results of these types."""
        torch = self.torch
        # Its memory is wanted.
        self.unload()
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = tf32
        space: dict[str, Any] = {}
        exec(compile(program, "<program>", "exec"), space)
        # What has no operand is made on the default device. Choosing one costs time in every call.
        torch.set_default_device(None if operands else self.device)
        constants = list(space["precompute"]({}, self.device).values()) if "precompute" in space else []
        kept = [block for bytes in spacers for block in self.block(bytes)]
        sets = []
        for before in gaps:
            made = []
            for operand, gap in zip(operands, before, strict=True):
                kept += self.block(gap) if gap else []
                made.append(self.operand(**operand))
            sets.append(made)
        load = Load(space["forward"], sets, constants, kept)
        given = load.once()
        given = () if given is None else given if isinstance(given, tuple) else (given,)
        found = [[str(one.dtype).removeprefix("torch."), list(one.shape)] for one in given]
        if found != results:
            raise RuntimeError(f"it gives {found}, {results} is wanted")
        self.synchronize()
        self.load_ = load
        return {}

    def unload(self) -> None:
        if self.driver and self.load_ is not None and self.load_.recorded is not None:
            self.driver.call("cuGraphExecDestroy", self.load_.recorded)
        self.load_ = None
        # An error holds what its frames hold.
        gc.collect()

    def loaded(self) -> Load:
        if self.load_ is None:
            raise RuntimeError("nothing is loaded")
        return self.load_

    def record(self, executions: int) -> dict[str, Any]:
        """Records executions as one piece. The record is what runs from then on, if there can be one."""
        load = self.loaded()
        load.next = 0
        if self.driver:
            # Memory that has to be had from the driver, and kernels that have to be loaded, are there when it is tried again.
            for _ in range(2):
                load.recorded = self.driver.record(self.stream, lambda: load.several(executions))
                if load.recorded is not None:
                    break
                # What could not be recorded shows up once more, as the failure of the next call.
                try:
                    load.once()
                except Exception:
                    pass
                load.several(executions)
            self.synchronize()
        return {"recorded": load.recorded is not None}

    def run(self, times: int) -> dict[str, Any]:
        load = self.loaded()
        started = time.perf_counter()
        if load.recorded is not None and self.driver:
            launched = [self.driver.call("cuGraphLaunch", load.recorded, ctypes.c_void_p(self.stream)) for _ in range(times)]
            if not all(launched):
                raise RuntimeError("CUDA refuses to launch a graph")
        else:
            load.several(times)
        queued = time.perf_counter() - started
        self.synchronize()
        return {"queued_s": queued, "total_s": time.perf_counter() - started}


def reason(error: BaseException) -> str:
    """The first line: PyTorch's messages carry a stack trace below it."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def main() -> None:
    # Ctrl-C goes to the whole group of processes. The command decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What others print must not come between the replies.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # Modules in the folder that the command runs in are none of PyTorch's.
    sys.path[:] = [place for place in sys.path if place]

    def reply(answer: dict[str, Any]) -> None:
        replies.write(json.dumps(answer) + "\n")
        replies.flush()

    try:
        device = Device(sys.argv[1])
        greeting = device.greeting()
    except Exception as error:
        reply({"failed": reason(error), "over": True})
        return
    # Collections take milliseconds and come between executions. What PyTorch is made of is not looked through again.
    gc.collect()
    gc.freeze()
    gc.disable()
    reply(greeting)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer = getattr(device, request.pop("do"))(**request)
        except Exception as error:
            device.unload()
            answer = {"failed": reason(error), "over": not device.works()}
        reply(answer)
        if answer.get("over"):
            return


if __name__ == "__main__":
    main()

"""Measuring with the PyTorch of this interpreter: the process that runs operators, on the CPU, and the door to the command."""

import json
import pathlib
import signal
import subprocess
import sys
import time

import magneton_ir
import pytest
import torch

TEXT = (pathlib.Path(magneton_ir.__file__).parent / "_measure_worker.py").read_text()

ADD = """
import torch

aten = torch.ops.aten

INPUTS = {"x0": ("user input", "x0"), "x1": ("user input", "x1")}


def forward(x0, x1):
    y = aten.add.Tensor(x0, x1)
    return y
"""


def operand(dtype="float32", shape=(2, 3), strides=(3, 1), contents=None, on_host=False):
    span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    contents = contents or {"normal": {"mean": 0.0, "deviation": 1.0}}
    return {"dtype": dtype, "shape": shape, "strides": strides, "span": span, "on_host": on_host, "is_parameter": False, "contents": contents}


def load(program=ADD, operands=None, results=(("float32", (2, 3)),), sets=2):
    operands = operands if operands is not None else [operand(), operand(strides=(1, 2))]
    gaps = [[0] * len(operands)] * sets
    return {"do": "load", "program": program, "operands": operands, "gaps": gaps, "spacers": [16], "tf32": [False, False], "results": results}


@pytest.fixture(scope="module")
def worker():
    """Asks a process on the CPU, started as the command starts it."""
    process = subprocess.Popen([sys.executable, "-c", TEXT, "cpu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(request):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    ask.process = process
    ask.greeting = json.loads(process.stdout.readline())
    yield ask
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_a_program_is_loaded_and_runs(worker):
    assert worker.greeting["torch"] == torch.__version__.split("+")[0]
    assert worker.greeting["process"] == worker.process.pid
    assert worker(load()) == {}
    # The CPU has no graphs.
    assert worker({"do": "record", "executions": 4}) == {"recorded": False}
    timing = worker({"do": "run", "times": 1000})
    assert 0 < timing["queued_s"] <= timing["total_s"]


@pytest.mark.parametrize("case", ["a wrong type", "no memory", "no such operator"])
def test_what_fails_is_told_and_the_next_request_is_answered(worker, case):
    request, said = {
        "a wrong type": (load(results=[["float16", [2, 3]]]), "float16"),
        "no memory": (load(operands=[operand(shape=(1 << 45,), strides=(1,)), operand()]), "alloc"),
        "no such operator": (load(ADD.replace("add.", "no_such.")), "no_such"),
    }[case]
    answer = worker(request)
    assert said in answer["failed"] and "\n" not in answer["failed"] and answer["over"] is False
    assert worker({"do": "run", "times": 1})["failed"] == "nothing is loaded"
    assert worker(load()) == {}


def test_what_a_program_prints_is_no_reply(worker):
    assert worker(load(ADD.replace("    y =", "    print('hello')\n    y ="))) == {}


def test_ctrl_c_is_the_command_s_business(worker):
    worker.process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert worker(load()) == {}


def test_operands_hold_what_is_asked_for(worker):
    program = ADD.replace("y = aten.add.Tensor(x0, x1)", "CHECK\n    y = x0")
    for asked, check in [
        (operand("int64", (7,), (1,), {"below": 3}), "assert x0.dtype == torch.int64 and x0.min() >= 0 and x0.max() < 3"),
        (operand("bool", (99,), (1,), {"below": 2}), "assert x0.dtype == torch.bool and x0.any() and not x0.all()"),
        (operand("int32", (4,), (1,), {"starts": 8}), "assert x0.tolist() == [0, 2, 4, 6]"),
        (operand("int32", (4,), (1,), {"ends": 8}), "assert x0.tolist() == [2, 4, 6, 8]"),
        (operand("bfloat16", (4, 5), (1, 4)), "assert x0.stride() == (1, 4)"),
        (operand("float8_e4m3fn", (4, 5), (0, 1)), "assert x0.stride() == (0, 1)"),
        ({**operand(shape=(4, 5), strides=(1, 4)), "is_parameter": True}, "assert x0.t().requires_grad"),
        (operand(shape=(999,), strides=(1,), contents={"normal": {"mean": 1.0, "deviation": 0.02}}), "assert 0.99 < x0.mean() < 1.01"),
    ]:
        text = program.replace("CHECK", check).replace("x0, x1", "x0")
        assert worker(load(text, [asked], [[asked["dtype"], asked["shape"]]])) == {}, check


def test_the_door_gives_the_command_this_interpreter(tmp_path, monkeypatch):
    command = tmp_path / "magneton-ir"
    command.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    command.chmod(0o755)
    monkeypatch.setenv("MAGNETON_IR_BINARY", str(command))
    done = subprocess.run([sys.executable, "-m", "magneton_ir.measure", "--quick", "--profile", "p"], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout == f"measure --python {sys.executable} --quick --profile p\n"

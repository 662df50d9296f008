"""Errors are exceptions that say what is wrong and where; "not proven" is none."""

import signal
import threading
import time

import magneton_ir as mir
import pytest
import torch
from magneton_ir import _binary


def double(x):
    return x * 2


def program(path, script):
    """A program in place of the command; gives its path."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_file_that_does_not_exist(tmp_path):
    with pytest.raises(mir.Error, match="missing.pt2") as error:
        mir.check(tmp_path / "missing.pt2", double, (torch.zeros(3),))
    assert error.value.code == "load::io"


def test_a_damaged_file_is_named_with_the_place(tmp_path):
    path = tmp_path / "broken.mir"
    path.write_text("graph broken(x: f32[2]) {\n    y = frobnicate(x)\n    return y\n}\n")
    with pytest.raises(mir.Error, match="frobnicate") as error:
        mir.check(path, path)
    assert "broken.mir:2:9" in str(error.value) and isinstance(error.value, ValueError)


def test_a_wrong_rule_is_refused_with_its_counterexample(rules):
    file = rules("/// Wrong.\nrule wrong [real]:\n    relu(x) => x\n")
    with pytest.raises(mir.Error, match="rules::wrong"):
        mir.check(double, double, (torch.zeros(3),), rules=file)


@pytest.mark.parametrize("options, said", [({"tier": "perfect"}, "perfect"), ({"bind": {"z": "x"}}, "z"), ({"config_a": {"tf": 1}}, "tf")])
def test_bad_usage(options, said):
    with pytest.raises(mir.Error, match=said):
        mir.check(double, double, (torch.zeros(3),), **options)


def test_what_is_no_workload():
    with pytest.raises(mir.Error, match="int"):
        mir.check(3, double, (torch.zeros(3),))
    with pytest.raises(mir.Error, match="tuple"):
        mir.check(double, double, torch.zeros(3))


def test_code_that_fails_is_told_with_its_reason():
    def broken(x):
        raise KeyError("no such layer")

    with pytest.raises(mir.Error, match="no such layer"):
        mir.check(broken, double, (torch.zeros(3),))


def test_a_command_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("MAGNETON_IR_BINARY", str(tmp_path / "none"))
    with pytest.raises(mir.BinaryError, match="MAGNETON_IR_BINARY"):
        mir.check(double, double, (torch.zeros(3),))


def test_a_command_that_crashes(monkeypatch, tmp_path):
    monkeypatch.setenv("MAGNETON_IR_BINARY", program(tmp_path / "crashing", "echo out of luck >&2\nkill -SEGV $$"))
    with pytest.raises(mir.BinaryError, match="(?s)-11.*out of luck"):
        mir.check(double, double, (torch.zeros(3),))


def test_a_command_of_another_version(monkeypatch, tmp_path):
    refuses = "echo \"error: unexpected argument '--write-json' found\" >&2\nexit 2"
    monkeypatch.setenv("MAGNETON_IR_BINARY", program(tmp_path / "older", refuses))
    with pytest.raises(mir.BinaryError, match="does not fit this package"):
        mir.check(double, double, (torch.zeros(3),))


def test_an_interrupt_ends_the_command(monkeypatch, tmp_path):
    started = tmp_path / "started"
    sleeping = tmp_path / "sleeping"
    sleeping.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep 60\n")
    sleeping.chmod(0o755)
    monkeypatch.setenv("MAGNETON_IR_BINARY", str(sleeping))
    # A job in the background ignores interrupts, and so would this test.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        import _thread

        while not started.exists() or not started.read_text().strip():
            time.sleep(0.01)
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            _binary.run(["check"], tmp_path, "sleeping")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 30
    with pytest.raises(ProcessLookupError):
        import os

        os.kill(int(started.read_text()), 0)

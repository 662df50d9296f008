"""What `--format sarif` writes, against the schema of the standard."""

import json
import pathlib
import subprocess

import jsonschema
import pytest
from magneton_ir._binary import binary

ROOT = pathlib.Path(__file__).parents[2]
PAIRS = ROOT / "corpus" / "pairs"
EXPORTS = ROOT / "corpus" / "exports"
SCHEMA = json.loads((ROOT / "tests" / "data" / "sarif" / "sarif-schema-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)

ODD = 'a b#?%é"<\\\u2028.py'


def log_of(*args):
    """The log that a command writes, which has to fit the schema."""
    command = [str(binary()), *map(str, args), "--format", "sarif"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (0, 1), done.stderr
    log = json.loads(done.stdout)
    faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in VALIDATOR.iter_errors(log)]
    assert not faults, "\n".join(faults)
    return log["runs"][0]["results"]


def mir(folder, name, op, file):
    path = folder / name
    quoted = json.dumps(file, ensure_ascii=False)
    path.write_text(f'graph g(x: f32[4]) {{ y = {op}(x) @ {quoted}:6 code "y = f(x)" return y }}')
    return path


def test_the_validator_checks_uris_and_refuses_what_is_no_log():
    place = {"physicalLocation": {"artifactLocation": {"uri": "a b.py"}, "region": {"startLine": 0}}}
    result = {"message": {"text": "m"}, "locations": [place]}
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "n"}}, "results": [result]}]}
    paths = {"/".join(map(str, e.absolute_path)).rsplit("/", 1)[-1] for e in VALIDATOR.iter_errors(log)}
    assert paths == {"uri", "startLine"}


def test_findings_with_lines_fit_the_schema():
    results = log_of("check", EXPORTS / "gpt2-eager.pt2", EXPORTS / "gpt2-sdpa.pt2")
    assert results[0]["locations"][0]["physicalLocation"]["region"]["startLine"] > 1


def test_a_log_without_findings_fits_the_schema():
    a = PAIRS / "addmm.a.mir"
    assert log_of("check", a, a) == []


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        (("gelu.a.mir", "gelu.b-wrong-sign.mir"), "different"),
        (("gelu.a.mir", "gelu.b.mir", "--tier", "exact"), "unproven"),
        (("rms_norm.a.mir", "rms_norm.b.mir"), "waste"),
    ],
)
def test_every_kind_of_finding_fits_the_schema(args, rule):
    a, b, *more = args
    assert rule in {result["ruleId"] for result in log_of("check", PAIRS / a, PAIRS / b, *more)}


def test_findings_of_a_baseline_fit_the_schema(tmp_path):
    sides = [PAIRS / "rms_norm.a.mir", PAIRS / "rms_norm.b.mir"]
    baseline = tmp_path / "baseline.sarif"
    baseline.write_text(json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "magneton-ir"}}, "results": []}]}))
    results = log_of("check", *sides, "--baseline", baseline)
    assert {result["baselineState"] for result in results} == {"new"}


@pytest.mark.parametrize("file", [ODD, f"/x/{ODD}", f"C:\\x\\{ODD}", "", "a:b.py"])
def test_places_with_odd_names_fit_the_schema(tmp_path, file):
    results = log_of("check", mir(tmp_path, "a b.mir", "relu", file), mir(tmp_path, "é#.mir", "tanh", file))
    assert [result["ruleId"] for result in results] == ["different"]


def test_reports_of_explain_and_optimize_fit_the_schema():
    log_of("explain", PAIRS / "attention.a.mir", PAIRS / "attention.b.mir", "1")
    log_of("optimize", PAIRS / "attention.a.mir")

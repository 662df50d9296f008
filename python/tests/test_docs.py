"""The Python that the documentation shows runs."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def run(folder, script):
    """Runs a script as a user would."""
    path = folder / "shown.py"
    path.write_text(script)
    done = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_on_python(tmp_path):
    shown = blocks("docs/src/python.md")
    assert len(shown) >= 5
    output = run(tmp_path, "\n".join(shown))
    assert "('Python read 4.0 from a tensor" in output
    assert (tmp_path / "regions" / "region-000.pt2").exists() and (tmp_path / "step.pt2").exists()


def test_the_script_of_the_readme(tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed")
    (script,) = blocks("README.md")
    assert len([line for line in script.splitlines() if line]) == 10
    assert run(tmp_path, script).startswith("equivalent, tier ")

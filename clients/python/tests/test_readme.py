"""Every program of the README runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import serving

README = (Path(__file__).parent.parent / "README.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs(tmp_path: Path, number: int) -> None:
    # The README's program is called bobak, and found on PATH.
    os.symlink(Path(serving.program()).resolve(), tmp_path / "bobak")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[number]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if number == 0:
        assert done.stdout == "Person(id=1, name='Ada')\n"

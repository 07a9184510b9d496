"""A real server for each transport."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from serving import TOKEN, stdio_url, tcp, unix


@pytest.fixture(params=["tcp", "unix", "stdio"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database over each transport."""
    if request.param == "stdio":
        yield stdio_url(tmp_path)
        return
    server = tcp(tmp_path) if request.param == "tcp" else unix(tmp_path)
    if request.param == "tcp":
        yield f"bobak://{server.place}/?token={TOKEN}"
    else:
        yield f"bobak+unix:{server.place}"
    server.stop()


@pytest.fixture
def socket_url(tmp_path: Path) -> Iterator[str]:
    """A new database over a Unix socket."""
    server = unix(tmp_path)
    yield f"bobak+unix:{server.place}"
    server.stop()

"""`bobak serve` for tests and benchmarks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TOKEN = "0123456789abcdef"


def program() -> str:
    """The program `bobak`: BOBAK_TEST_PROGRAM, or the last one that cargo has built."""
    named = os.environ.get("BOBAK_TEST_PROGRAM")
    if named:
        return named
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [target / profile / "bobak" for profile in ("debug", "release")]
    found = sorted(filter(Path.is_file, built), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit("no program to serve with: run `cargo build -p bobak-cli` first")
    return str(found[-1])


class Server:
    """A process that runs `bobak serve`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.child = subprocess.Popen(
            [program(), "serve", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        self.place = line.removeprefix("listening on ").strip()

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self) -> None:
        self.child.terminate()
        self.child.wait()
        assert self.child.stdout is not None
        self.child.stdout.close()


def tcp(folder: Path, database: str = "app.db", *more: str, address: str = "127.0.0.1:0") -> Server:
    (folder / "tokens").write_text(TOKEN + "\n")
    return Server(folder, database, "--listen", address, "--token-file", "tokens", *more)


def unix(folder: Path, database: str = "app.db") -> Server:
    return Server(folder, database, "--unix", str(folder / "socket"))


def stdio_url(folder: Path, database: str = "app.db") -> str:
    file = str(folder / database).replace(" ", "%20")
    return f"bobak+stdio:{program().replace(' ', '%20')} serve {file} --stdio"

"""The end of the standard error of a child process, and how it ended."""

from __future__ import annotations

import signal

#: The number of stored bytes, and of the lines and characters that an error shows.
_KEPT = 4096
_LINES = 8
_CHARACTERS = 800


class ErrorTail:
    """The end of a program's standard error."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._said = bytearray()
        self._is_cut = False

    def add(self, data: bytes) -> None:
        """Adds more output."""
        self._said += data
        self._is_cut |= len(self._said) > _KEPT
        del self._said[:-_KEPT]

    def tell(self, status: int | None) -> str:
        """How the program ended, by its status of :mod:`subprocess`, and the end of its output."""
        end = "closed its output" if status is None else f"ended ({_name(status)})"
        said = self._lines()
        return f"{self._program} {end}, and said: {said}" if said else f"{self._program} {end}"

    def _lines(self) -> str:
        lines = bytes(self._said).decode(errors="replace").splitlines()
        if self._is_cut and len(lines) > 1:
            # The first line is incomplete.
            del lines[0]
        printed = ("".join(c if c.isprintable() else " " for c in line).strip() for line in lines)
        text = " | ".join([line for line in printed if line][-_LINES:])
        return text if len(text) <= _CHARACTERS else f"…{text[-_CHARACTERS:]}"


def _name(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"

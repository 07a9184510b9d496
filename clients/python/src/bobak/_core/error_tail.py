"""What a child process said last on its standard error, and how it ended."""

from __future__ import annotations

import signal

#: Bytes that are kept, and lines and characters of them that an error shows.
_KEPT = 4096
_LINES = 8
_CHARACTERS = 800


class LastWords:
    """The end of what a program says on its standard error."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._said = bytearray()
        self._is_cut = False

    def add(self, data: bytes) -> None:
        """Takes in what it says now."""
        self._said += data
        self._is_cut |= len(self._said) > _KEPT
        del self._said[:-_KEPT]

    def tell(self, status: int | None) -> str:
        """How it ended, by its status as :mod:`subprocess` has it, and its last words."""
        end = "closed its output" if status is None else f"ended ({_name(status)})"
        said = self._lines()
        return f"{self._program} {end}, and said: {said}" if said else f"{self._program} {end}"

    def _lines(self) -> str:
        lines = bytes(self._said).decode(errors="replace").splitlines()
        if self._is_cut and len(lines) > 1:
            # Of the first there is but a part.
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

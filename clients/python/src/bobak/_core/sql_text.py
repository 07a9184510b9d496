"""SQL texts with parameters by name, and with lists of values.

The server takes parameters by position, one value each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from .._errors import Error, ErrorKind
from .._wire.request import Parameter
from . import types

#: A string, a quoted name, a comment or a cast, in which nothing is a parameter; or a parameter.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z) | \[[^\]]*(?:\]|\Z)
      | --[^\n]* | /\*.*?(?:\*/|\Z) | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z) | ::
      | (?P<parameter>:[^\W\d]\w*|\?)""",
    re.DOTALL | re.VERBOSE,
)
#: The text before and after the only parameter of ``IN (…)``.
_BEFORE_LIST = re.compile(r"(?i)(\bnot\s+)?\bin\s*\(\s*\Z")
_AFTER_LIST = re.compile(r"\s*\)")

#: The values of an SQL text: by position, or by name.
SqlParameters = Sequence[Any] | Mapping[str, Any]

_LISTS = (list, tuple, range, Set)


def bind(text: str, values: SqlParameters) -> tuple[str, list[Parameter]]:
    """The text with a ``?`` for each value, and the values in their order.

    A mapping has the values of ``:name``, a sequence those of ``?``. A list, tuple, set or range in
    the place of a value has those of ``IN (?)``.
    """
    if isinstance(values, Mapping):
        return _bind_names(text, values)
    if isinstance(values, (str, bytes, Set)):
        kind = type(values).__name__
        message = (
            "parameters are a list or a tuple, in the order of the question marks, or a dict of "
            f"values by name, not a {kind}"
        )
        raise Error(ErrorKind.MISUSE, message)
    if any(isinstance(value, _LISTS) for value in values):
        return _bind_lists(text, values)
    return text, [types.parameter(value) for value in values]


def _bind_names(text: str, values: Mapping[str, Any]) -> tuple[str, list[Parameter]]:
    found = list(_parameters(text))
    if any(match[0] == "?" for match in found):
        message = "the text has a parameter ?, and the values have names: name each in the text"
        raise Error(ErrorKind.MISUSE, message)
    names = {match[0][1:] for match in found}
    for name in values:
        if name not in names:
            raise Error(ErrorKind.MISUSE, f"the text has no parameter :{name}")
    for match in found:
        if match[0][1:] not in values:
            message = f"the parameter {match[0]} of the text has no value"
            raise Error(ErrorKind.MISUSE, message)
    return _write(text, [(match, values[match[0][1:]]) for match in found])


def _bind_lists(text: str, values: Sequence[Any]) -> tuple[str, list[Parameter]]:
    found = list(_parameters(text))
    if len(found) != len(values):
        message = f"the text has {len(found)} parameters, and {len(values)} are given"
        raise Error(ErrorKind.MISUSE, message)
    return _write(text, list(zip(found, values)))


def _parameters(text: str) -> Iterator[re.Match[str]]:
    for match in _TOKEN.finditer(text):
        if match["parameter"]:
            yield match
        elif _is_read_differently(match[0]):
            message = (
                "databases differ in where the strings of this text end: give values by position, "
                "not by name or in lists, or pass the string as a parameter, too"
            )
            raise Error(ErrorKind.UNSUPPORTED, message)


def _is_read_differently(quoted: str) -> bool:
    """Whether other databases see no string here, or one that ends elsewhere."""
    if quoted[0] in "'\"":
        return "\\" in quoted
    return quoted[0] in "[$" and ("?" in quoted or ":" in quoted or "'" in quoted)


def _write(text: str, values: list[tuple[re.Match[str], Any]]) -> tuple[str, list[Parameter]]:
    parts: list[str] = []
    parameters: list[Parameter] = []
    at = 0
    for match, value in values:
        parts.append(text[at : match.start()])
        at = match.end()
        if not isinstance(value, _LISTS):
            parts.append("?")
            parameters.append(types.parameter(value))
            continue
        before = _BEFORE_LIST.search(text, 0, match.start())
        after = _AFTER_LIST.match(text, at)
        if before is None or after is None:
            message = "a list of values stands alone in the parentheses of IN: `IN (?)`"
            raise Error(ErrorKind.MISUSE, message)
        if value:
            parts.append(", ".join("?" * len(value)))
            parameters.extend(types.parameter(one) for one in value)
        else:
            # NULL is neither equal to a value nor different from it.
            parts.append("NULL" + after[0] + (" IS NOT FALSE" if before[1] else " IS TRUE"))
            at = after.end()
    parts.append(text[at:])
    return "".join(parts), parameters

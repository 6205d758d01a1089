# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the vendor contract from the comments of its headers."""

import dataclasses
import os
import pathlib
import re

from absl import app, flags

_HEADERS = flags.DEFINE_string("headers", "core/abi", "folder of the headers")
_OUTPUT = flags.DEFINE_string("output", "docs/abi_reference.md", "file to write")

# In the order in which one reads them.
HEADERS = (
    "vendor_api.h",
    "base.h",
    "runtime.h",
    "operators.h",
    "communicator.h",
    "graph.h",
    "ipc.h",
    "virtual_memory.h",
    "profiler.h",
    "generator.h",
)

_HEAD = """\
# Reference of the vendor contract

Generated from the headers of `core/abi`; do not edit. To renew it, run
`./bazelw run //core/abi:reference`.
"""

# Comments are replaced by \x01<number>\x01 first, so that code can be matched.
_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_MARK = r"\x01\d+\x01"
_ITEM = re.compile(
    rf"(?P<doc>{_MARK}\n)?(?:"
    r"#define (?P<macro>\w+(?:\([^)]*\))?)(?P<value>(?:\\\n|[^\n\x01])*)"
    r"|typedef struct (?P<struct>\w+) \{(?P<fields>.*?)\} (?P=struct);"
    r"|(?:typedef \w+ (?P<enum>\w+);\n)?enum \{(?P<values>.*?)\};"
    r"|(?P<code>(?:typedef|DIPU_VENDOR_EXPORT) [^;{]*;)"
    rf")(?P<after>[ ]*{_MARK})?",
    re.DOTALL,
)
_FIELD = re.compile(
    rf"(?P<doc>(?:\s*{_MARK})*)\s*(?P<code>[^;\x01]+);(?P<after>[ ]*{_MARK})?"
)
_VALUE = re.compile(
    rf"(?P<doc>(?:\s*{_MARK})*)\s*(?P<code>\w+ = [^,\x01\n]+),?(?P<after>[ ]*{_MARK})?"
)
# Macros that say nothing to a reader.
_SKIPPED = re.compile(r"\w+_H_|DIPU_VENDOR_EXPORT")


@dataclasses.dataclass(frozen=True)
class Member:
    """A field, a slot or a value, with what its comment says."""

    code: str
    text: str


@dataclasses.dataclass(frozen=True)
class Entry:
    """Types, macros or a function that share a comment."""

    names: tuple[str, ...]
    code: tuple[str, ...]  # empty for what has members
    text: str
    members: tuple[Member, ...] = ()


@dataclasses.dataclass(frozen=True)
class Header:
    """One file."""

    name: str
    text: str
    entries: tuple[Entry, ...]


def _clean(comment: str) -> str:
    """The words of a comment, one paragraph or list entry a line."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.splitlines()]
    text = "\n".join(lines).strip()
    text = re.sub(r"\n +(?=[^\s-])", " ", text)  # goes on with a list entry
    return re.sub(r"(?<=[^\n])\n(?=[^\n\s-])", " ", text)


class _Comments:
    """The comments of a file, by the marks that stand for them."""

    def __init__(self, text: str) -> None:
        self._texts: list[str] = []
        self.code = _COMMENT.sub(self._keep, text)

    def _keep(self, match: re.Match[str]) -> str:
        self._texts.append(_clean(match[1]))
        return f"\x01{len(self._texts) - 1}\x01"

    def words(self, *parts: str | None) -> str:
        """What the marks in the parts stand for."""
        numbers = re.findall(r"\x01(\d+)\x01", "".join(part or "" for part in parts))
        return " ".join(self._texts[int(number)] for number in numbers)


def _one_line(code: str) -> str:
    return " ".join(code.replace("\\\n", " ").split()).replace("( ", "(")


def _entry(match: re.Match[str], comments: _Comments) -> Entry:
    text = comments.words(match["doc"], match["after"])
    body, pattern = match["fields"] or match["values"], _FIELD
    if match["values"]:
        pattern = _VALUE
    if body:
        members = tuple(
            Member(_one_line(m["code"]), comments.words(m["doc"], m["after"]))
            for m in pattern.finditer(body)
        )
        name = match["struct"] or match["enum"]
        return Entry((name,) if name else (), (), text, members)
    if match["macro"]:
        code = _one_line(f"#define {match['macro']} {match['value']}")
        return Entry((match["macro"].split("(")[0],), (code,), text)
    code = _one_line(match["code"]).removeprefix("DIPU_VENDOR_EXPORT ")
    name = re.search(r"\(\*(\w+)\)|(\w+)\(|(\w+);", code)
    assert name is not None, code
    return Entry((name[1] or name[2] or name[3],), (code,), text)


def parse(name: str, text: str) -> Header:
    """Reads one header."""
    comments = _Comments(text)
    entries: list[Entry] = []
    end = 0  # of the entry before
    for match in _ITEM.finditer(comments.code):
        if match["macro"] and _SKIPPED.match(match["macro"]):
            continue
        entry = _entry(match, comments)
        is_next_line = comments.code[end : match.start()] == "\n"
        end = match.end()
        if is_next_line and entry.code and not entry.text and entries[-1].code:
            last = entries.pop()
            entry = Entry(last.names + entry.names, last.code + entry.code, last.text)
        entries.append(entry)
    head = comments.words("\x010\x01").partition("\n\n")[2]
    return Header(name, head, tuple(entries))


def _render_entry(entry: Entry) -> str:
    title = ", ".join(f"`{name}`" for name in entry.names) or "Values"
    parts = [f"### {title}"]
    if entry.code:
        parts.append("```c\n" + "\n".join(entry.code) + "\n```")
    if entry.text:
        parts.append(entry.text)
    if entry.members:
        lines = (
            f"- `{m.code}`" + (f": {m.text}" if m.text else "") for m in entry.members
        )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def render(headers: list[Header]) -> str:
    """Writes all of them as one page."""
    parts = [_HEAD.rstrip()]
    for header in headers:
        parts += [f"## {header.name}", header.text]
        parts += [_render_entry(entry) for entry in header.entries]
    return "\n\n".join(parts) + "\n"


def page(folder: pathlib.Path) -> str:
    """The page about the headers in a folder."""
    return render([parse(name, (folder / name).read_text()) for name in HEADERS])


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {argv[1:]}")
    root = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    (root / _OUTPUT.value).write_text(page(root / _HEADERS.value))


if __name__ == "__main__":
    app.run(main)

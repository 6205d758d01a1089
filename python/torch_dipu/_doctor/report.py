# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds, for people and for machines."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes:
        check: Name of the check for machines, which stays the same.
        cause: What is wrong, with which file or value.
        cure: What to do about it.
        details: Lines that show more, such as folders that were searched.
    """

    check: str
    cause: str
    cure: str
    details: tuple[str, ...] = ()


@dataclasses.dataclass
class Section:
    """What was seen of one subject.

    Attributes:
        name: Of the subject, for machines.
        title: Of the subject, for people.
        facts: What is there, in the order in which people read it.
        notes: What is worth knowing and not wrong.
        findings: What is wrong.
        data: Facts that only machines want.
    """

    name: str
    title: str
    facts: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    data: dict[str, Any] = dataclasses.field(default_factory=dict)

    def find(
        self, check: str, cause: str, cure: str, details: Iterable[str] = ()
    ) -> None:
        """Adds a finding."""
        self.findings.append(Finding(check, cause, cure, tuple(details)))


@dataclasses.dataclass
class Report:
    """All that the doctor has to say."""

    version: str
    sections: list[Section] = dataclasses.field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        return [finding for section in self.sections for finding in section.findings]

    @contextlib.contextmanager
    def section(self, name: str, title: str) -> Iterator[Section]:
        """Adds a section; a check that fails itself is a finding in it."""
        section = Section(name, title)
        self.sections.append(section)
        try:
            yield section
        except Exception as e:  # the other checks have to go on
            section.find(
                "doctor",
                f"the check itself failed: {type(e).__name__}: {e}",
                "Report it to the maintainers of torch_dipu",
            )

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        sections = [dataclasses.asdict(section) for section in self.sections]
        whole = not self.findings
        return {"version": self.version, "whole": whole, "sections": sections}


def advice(text: str) -> tuple[str, str]:
    """Cause and cure of an error whose last sentence says what to do.

    The loader writes its errors like that (failLoad in core/loader/shared_object.h).
    """
    cause, _, cure = text.removesuffix(".").rpartition(". ")
    return (cause, cure) if cause else (cure, "Install the package anew")

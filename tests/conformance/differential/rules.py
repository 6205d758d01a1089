# SPDX-License-Identifier: Apache-2.0
"""The exceptions that are made, each with its reason: `exceptions.yaml`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.conformance.differential.entry import (
    CHECKS,
    Entry,
    Loosened,
    Result,
    Scope,
    Task,
    Tolerance,
)

_SCOPE_KEYS = {"entry", "kind", "dtypes", "checks", "reason"}
_KEYS = {
    "skips": _SCOPE_KEYS,
    "failures": _SCOPE_KEYS | {"rare"},
    "strides": _SCOPE_KEYS,
    "tolerances": _SCOPE_KEYS | {"rtol", "atol"},
}


class RuleError(ValueError):
    """The file is wrong; the text says which rule and why."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """A failure that is known.

    Attributes:
        scope: What fails.
        rare: Whether a run with few samples may miss it.
    """

    scope: Scope
    rare: bool


@dataclasses.dataclass(frozen=True)
class Rules:
    """What exceptions.yaml says.

    Attributes:
        skips: What is not run.
        failures: What fails, and is an error when it passes.
        strides: What may have other strides than the CPU's.
        loosened: Tolerances above PyTorch's own.
    """

    skips: Sequence[Scope] = ()
    failures: Sequence[Expected] = ()
    strides: Sequence[Scope] = ()
    loosened: Sequence[Loosened] = ()

    def checks(self, entry: Entry) -> list[str]:
        """The checks of an entry that are not skipped."""
        skips = [scope for scope in self.skips if scope.about(entry)]
        return [c for c in CHECKS if not any(s.covers(entry, c) for s in skips)]

    def task(self, entry: Entry, samples: Mapping[str, int]) -> Task:
        """The task of an entry, with so many samples per check."""
        return Task(
            entry,
            {check: samples[check] for check in self.checks(entry) if check in samples},
            [rule for rule in self.loosened if rule.scope.about(entry)],
            [scope for scope in self.strides if scope.about(entry)],
        )

    def judge(self, result: Result, thorough: bool) -> list[str]:
        """What is wrong with a result that is not expected to be.

        Args:
            result: What came out.
            thorough: Whether all samples were run, so that known failures show.
        """
        known = [rule for rule in self.failures if rule.scope.about(result.entry)]
        if result.crash:
            return [] if known else [f"{result.entry}: {result.crash}"]
        found = []
        for name, check in result.checks.items():
            expected = [r for r in known if r.scope.covers(result.entry, name)]
            if not expected:
                found += [f"{result.entry}: {name}: {p}" for p in check.problems]
            elif not check.problems and (
                thorough or not all(rule.rare for rule in expected)
            ):
                found.append(
                    f"{result.entry}: {name}: passes though exceptions.yaml expects "
                    "it to fail; remove that"
                )
        return found


def _scope(rule: dict[str, Any]) -> Scope:
    checks = tuple(rule.get("checks", ()))
    if unknown := set(checks) - set(CHECKS):
        raise RuleError(f"unknown checks {sorted(unknown)}; known: {CHECKS}")
    return Scope(
        entry=rule["entry"],
        kind=rule.get("kind", "op"),
        dtypes=tuple(rule.get("dtypes", ())),
        checks=checks,
    )


def _checked(section: str, rule: dict[str, Any]) -> dict[str, Any]:
    if unknown := set(rule) - _KEYS[section]:
        raise RuleError(f"unknown keys {sorted(unknown)} in {section}: {rule}")
    for key in ("entry", "reason"):
        if not rule.get(key):
            raise RuleError(f"no {key} in {section}: {rule}")
    return rule


def parse(text: str) -> Rules:
    """Reads exceptions.yaml.

    Raises:
        RuleError: It has unknown keys, or a rule lacks its reason.
    """
    data = yaml.safe_load(text) or {}
    if unknown := set(data) - set(_KEYS):
        raise RuleError(f"unknown sections {sorted(unknown)}; known: {sorted(_KEYS)}")
    rules = {
        section: [_checked(section, rule) for rule in data.get(section) or ()]
        for section in _KEYS
    }
    return Rules(
        skips=[_scope(rule) for rule in rules["skips"]],
        failures=[
            Expected(_scope(rule), bool(rule.get("rare"))) for rule in rules["failures"]
        ],
        strides=[_scope(rule) for rule in rules["strides"]],
        loosened=[
            Loosened(
                _scope(rule),
                Tolerance(float(rule.get("rtol", 0)), float(rule.get("atol", 0))),
            )
            for rule in rules["tolerances"]
        ],
    )


def unmatched(rules: Rules, entries: Sequence[Entry]) -> list[str]:
    """Scopes that are about no entry at all: misspelt, or renamed by PyTorch."""
    scopes = [
        *rules.skips,
        *rules.strides,
        *(rule.scope for rule in rules.failures),
        *(rule.scope for rule in rules.loosened),
    ]
    return sorted(
        f"exceptions.yaml: no such entry: {scope}"
        for scope in scopes
        if not any(scope.about(entry) for entry in entries)
    )

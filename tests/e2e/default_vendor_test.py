# SPDX-License-Identifier: Apache-2.0
"""Which vendor is taken when the user names none.

What a probe finds is given, so that every mixture can be had; vendor_choice_test
probes libraries.
"""

import pytest
from torch_dipu import _vendors

# Vendor -> what opening it shows: simulated or not, number of devices.
PROBES = {
    "droplet": (True, 2),
    "alpha": (False, 1),
    "beta": (False, 4),
    "cardless": (False, 0),
    "imitation": (True, 1),
}


@pytest.fixture
def choose(monkeypatch):
    """Returns a function: names of installed vendors -> name of the chosen."""

    def probe(candidate):
        simulated, devices = PROBES[candidate.name]
        return _vendors.Probe(candidate, {"simulated": simulated}, devices, "")

    def run(*names):
        candidates = [_vendors.Candidate(n, f"/{n}.so", "test") for n in names]
        monkeypatch.setattr(_vendors, "installed", lambda: candidates)
        chosen = _vendors.choose()
        return chosen.name if chosen else None

    monkeypatch.setattr(_vendors, "probe", probe)
    monkeypatch.delenv("DIPU_DEVICE", raising=False)
    monkeypatch.delenv("DIPU_VENDOR_LIBRARY", raising=False)
    return run


def test_the_only_real_vendor_is_taken(choose):
    assert choose("alpha", "cardless", "droplet", "imitation") == "alpha"


def test_several_real_vendors_are_an_error(choose):
    with pytest.raises(_vendors.VendorError, match=r"alpha, beta.*DIPU_DEVICE"):
        choose("alpha", "beta", "droplet")


def test_no_real_vendor_means_droplet(choose):
    assert choose("cardless", "droplet", "imitation") == "droplet"


def test_nothing_is_taken_without_droplet(choose):
    assert choose("cardless") is None
    assert choose() is None

# SPDX-License-Identifier: Apache-2.0
"""Version of the package; the wheels take theirs from the same place."""

__version__ = "0.1.0"

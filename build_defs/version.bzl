# SPDX-License-Identifier: Apache-2.0
"""The version of every distribution built here."""

VERSION = "0.1.0"

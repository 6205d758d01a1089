# SPDX-License-Identifier: Apache-2.0
"""Debug tools that look at the calls of chosen operators."""

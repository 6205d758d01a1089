# SPDX-License-Identifier: Apache-2.0
"""Compiler options of kernel code."""

load("//build_defs:cc.bzl", "OPENMP_COPTS")

# Integer overflow wraps, as PyTorch's does. Kernels never look at errno or at
# floating-point exception flags, which would keep loops scalar.
KERNEL_COPTS = [
    "-O3",
    "-march=x86-64-v3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-fwrapv",
] + OPENMP_COPTS

# What the rest of the repository uses of the locked Python packages.
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

py_runtime(
    name = "py3",
    interpreter_path = "{python}",
    python_version = "PY3",
    stub_shebang = "#!{python}",
)

py_runtime_pair(
    name = "pair",
    py3_runtime = ":py3",
)

toolchain(
    name = "py_toolchain",
    toolchain = ":pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

# Changes whenever the environment does; an input of everything that runs in it.
filegroup(
    name = "stamp",
    srcs = ["env.stamp"],
)

# Headers; see Note [Header folders as labels] in python_env.bzl.
cc_library(
    name = "python_headers",
    hdrs = ["python_include"],
    includes = ["python_include"],
    tags = ["torch_side"],
    visibility = ["@dipu//:torch_side"],
)

cc_library(
    name = "pybind11",
    hdrs = ["pybind11_include"],
    includes = ["pybind11_include"],
    tags = ["torch_side"],
    visibility = ["@dipu//:torch_side"],
    deps = [":python_headers"],
)

cc_library(
    name = "torch_headers",
    hdrs = ["torch_include"],
    includes = [
        "torch_include",
        "torch_include/torch/csrc/api/include",
    ],
    tags = ["torch_side"],
    visibility = ["@dipu//:torch_side"],
    deps = [":python_headers"],
)

# For programs without Python that use torch: links libtorch by its path in the
# environment.
cc_library(
    name = "torch_link",
    srcs = glob([
        "torch_lib/libc10.so",
        "torch_lib/libgomp*.so*",
        "torch_lib/libtorch.so",
        "torch_lib/libtorch_cpu.so",
    ]),
    tags = ["torch_side"],
    visibility = ["@dipu//:torch_side"],
    deps = [":torch_headers"],
)

# For extension modules, which find these libraries beside themselves in
# site-packages.
cc_library(
    name = "torch_python_link",
    srcs = [
        "torch_lib/libc10.so",
        "torch_lib/libtorch.so",
        "torch_lib/libtorch_cpu.so",
        "torch_lib/libtorch_python.so",
    ],
    tags = ["torch_side"],
    visibility = ["@dipu//:torch_side"],
    deps = [":torch_headers"],
)

[
    filegroup(
        name = name,
        srcs = ["torch_lib/lib%s.so" % name],
        tags = ["torch_side"],
        visibility = ["@dipu//:torch_side"],
    )
    for name in [
        "c10",
        "torch",
        "torch_cpu",
        "torch_python",
    ]
]

# Libraries of the CPU kernels. The plain name brings headers and links the
# shared object; _shared is the file to ship, _license its licence text.
cc_library(
    name = "openblas",
    srcs = ["openblas_lib/libscipy_openblas.so"],
    hdrs = ["openblas_include"],
    includes = ["openblas_include"],
)

filegroup(
    name = "openblas_shared",
    srcs = ["openblas_lib/libscipy_openblas.so"],
)

filegroup(
    name = "openblas_license",
    srcs = ["licenses/openblas/LICENSE.txt"],
)

cc_library(
    name = "onednn",
    srcs = ["onednn_lib/libdnnl.so.3"],
    hdrs = ["onednn_include"],
    includes = ["onednn_include"],
)

filegroup(
    name = "onednn_shared",
    srcs = ["onednn_lib/libdnnl.so.3"],
)

filegroup(
    name = "onednn_license",
    srcs = [
        "licenses/onednn/LICENSE",
        "licenses/onednn/THIRD-PARTY-PROGRAMS",
    ],
)

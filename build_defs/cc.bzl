# SPDX-License-Identifier: Apache-2.0
"""C++ macros: one place for compiler options, sanitizers and shared objects.

Torch-free code is C++17 without warnings. Code that includes torch (torch =
True) is C++20, because torch's headers are.
"""

load(
    "//build_defs:shared_library.bzl",
    "link_by_file",
    "link_only",
    "shared_interface",
)

# The only names for Bazel's own C++ rules; load them from here.
cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test

# OpenMP for the CPU kernels. Left out under tsan, which cannot see the
# synchronisation inside libgomp; the pragmas are then ignored.
OPENMP_COPTS = select({
    "//build_defs:tsan": ["-Wno-unknown-pragmas"],
    "//conditions:default": ["-fopenmp"],
})
OPENMP_LINKOPTS = select({
    "//build_defs:tsan": [],
    "//conditions:default": ["-fopenmp"],
})

_WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# Sanitizer run times are linked into the program, not into its libraries.
_NO_UNDEFINED = select({
    "//build_defs:asan": [],
    "//build_defs:tsan": [],
    "//build_defs:ubsan": [],
    "//conditions:default": ["-Wl,-z,defs"],
})

def _copts(torch, copts):
    # Torch's inline code draws false positives from gcc's flow analysis.
    return (["-std=c++20", "-Wall"] if torch else _WARNINGS) + copts

# Torch's headers bring an older pybind11 along. Bazel orders include paths by
# the order of dependencies: ours has to be found first, in all files alike,
# since objects of one version are garbage to the other.
_PYBIND11 = "@pyenv//:pybind11"

def _deps(torch, deps):
    first = [_PYBIND11] if _PYBIND11 in deps else []
    others = [dep for dep in deps if dep != _PYBIND11]
    return first + others + (["@pyenv//:torch_headers"] if torch else [])

def dipu_cc_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        implementation_deps = [],
        torch = False,
        copts = [],
        alwayslink = False,
        **kwargs):
    """A C++ library.

    Args:
      name: target name.
      srcs: sources and private headers.
      hdrs: public headers.
      deps: libraries whose headers it includes.
      implementation_deps: libraries whose headers only its sources include.
        Users of this library do not see them, so they are not compiled anew
        when these change.
      torch: whether it includes torch headers.
      copts: further compiler options.
      alwayslink: whether to link what nobody refers to.
      **kwargs: as for cc_library.
    """
    if implementation_deps:
        sources = name + "_sources"
        linked = name + "_linked"
        cc_library(
            name = sources,
            srcs = srcs + hdrs,
            copts = _copts(torch, copts),
            linkstatic = True,
            alwayslink = alwayslink,
            deps = _deps(torch, deps + implementation_deps),
        )
        link_only(
            name = linked,
            deps = [sources],
        )
        srcs = [src for src in srcs if src.endswith(".h")]
        deps = deps + [linked]
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = _copts(torch, copts),
        # An archive only: shared objects are made where one is wanted.
        linkstatic = True,
        alwayslink = alwayslink,
        deps = _deps(torch, deps),
        **kwargs
    )

def dipu_cc_test(
        name,
        deps = [],
        torch = False,
        copts = [],
        size = "small",
        tags = [],
        gtest_main = True,
        **kwargs):
    """A GoogleTest program.

    Args:
      name: target name.
      deps: libraries under test.
      torch: whether it includes and links torch.
      copts: further compiler options.
      size: Bazel's test size.
      tags: further tags; torch tests get no_sanitizer.
      gtest_main: False for a test with a main function of its own.
      **kwargs: as for cc_test.
    """
    deps = list(deps)
    if gtest_main:
        deps.append("//third_party/googletest:gtest_main")
    if torch:
        deps.append("@pyenv//:torch_link")
    cc_test(
        name = name,
        size = size,
        copts = _copts(torch, copts),
        linkstatic = True,
        tags = tags + (["no_sanitizer"] if torch else []),
        deps = _deps(torch, deps),
        **kwargs
    )

def dipu_cc_binary(name, deps = [], torch = False, copts = [], **kwargs):
    """A C++ program.

    Args:
      name: target name.
      deps: libraries it uses.
      torch: whether it includes and links torch.
      copts: further compiler options.
      **kwargs: as for cc_binary.
    """
    cc_binary(
        name = name,
        copts = _copts(torch, copts),
        deps = _deps(torch, deps + (["@pyenv//:torch_link"] if torch else [])),
        **kwargs
    )

def dipu_cc_shared(
        name,
        deps = [],
        version_script = None,
        soname = None,
        needed = [],
        rpath_origin = True,
        rpaths = [],
        allow_undefined = False,
        linkopts = [],
        visibility = None,
        testonly = False,
        **kwargs):
    """A shared object with a SONAME, and a library target that links it.

    `lib<x>.so` is the file. `lib<x>` is a dependency for other targets: the
    headers of `deps`, linked against the file. Depend on it rather than on
    `deps` wherever the process must hold one copy only.

    Args:
      name: file name, lib<x>.so.
      deps: what goes into the file, all of it.
      version_script: a .lds file that says which symbols are exported.
      soname: defaults to the file name.
      needed: shared libraries that it uses, by the target of their file or
        their library target; those among `deps` need no mention.
      rpath_origin: whether needed libraries are found beside the file.
      rpaths: further folders to search, such as "$$ORIGIN/../torch/lib".
      allow_undefined: whether symbols may be left for the process to provide.
      linkopts: further linker options.
      visibility: of both targets.
      testonly: of both targets.
      **kwargs: as for cc_binary.
    """
    if not name.startswith("lib") and not name.endswith("_C.so"):
        fail("%s: a shared object is called lib<name>.so" % name)
    basename = name.split("/")[-1]
    options = ["-Wl,-soname," + (soname or basename)]
    for path in (["$$ORIGIN"] if rpath_origin else []) + rpaths:
        options.append("-Wl,-rpath,'%s'" % path)
    scripts = []
    if version_script:
        options.append("-Wl,--version-script,$(location %s)" % version_script)
        scripts.append(version_script)
    links = [n[:-3] if n.endswith(".so") else n for n in needed]
    stem = name[:-3]
    link_by_file(
        name = stem + "_contents",
        testonly = testonly,
        visibility = ["//visibility:private"],
        deps = deps + links,
    )
    cc_binary(
        name = name,
        linkopts = options + linkopts +
                   ([] if allow_undefined else _NO_UNDEFINED),
        linkshared = True,
        testonly = testonly,
        visibility = visibility,
        deps = [stem + "_contents"] + scripts,
        **kwargs
    )
    cc_library(
        name = stem + "_link",
        srcs = [name],
        testonly = testonly,
        visibility = ["//visibility:private"],
    )
    shared_interface(
        name = stem,
        contents = deps + links,
        library = stem + "_link",
        testonly = testonly,
        visibility = visibility,
    )

# SPDX-License-Identifier: Apache-2.0
"""Python macros. Everything runs in the locked environment."""

_STAMP = "@pyenv//:stamp"

def dipu_py_library(name, **kwargs):
    """A Python library.

    Args:
      name: target name.
      **kwargs: as for py_library.
    """
    native.py_library(name = name, srcs_version = "PY3", **kwargs)

def dipu_py_binary(name, data = [], **kwargs):
    """A Python program.

    Args:
      name: target name.
      data: files it reads at run time.
      **kwargs: as for py_binary.
    """
    native.py_binary(
        name = name,
        data = data + [_STAMP],
        python_version = "PY3",
        **kwargs
    )

def dipu_pytest(
        name,
        srcs,
        deps = [],
        data = [],
        args = [],
        size = "small",
        tags = [],
        **kwargs):
    """Runs pytest over `srcs`.

    Args:
      name: target name.
      srcs: the test files, and a conftest.py if there is one.
      deps: libraries under test.
      data: files the tests read; name them by $(rootpath) in `env`.
      args: further arguments of pytest.
      size: Bazel's test size.
      tags: further tags.
      **kwargs: as for py_test.
    """
    main = "//build_defs:pytest_main.py"
    tests = [s for s in srcs if not s.endswith("conftest.py")]
    native.py_test(
        name = name,
        size = size,
        srcs = srcs + [main],
        args = ["$(rootpath %s)" % s for s in tests] + args,
        data = data + [_STAMP],
        main = main,
        python_version = "PY3",
        tags = tags + ["no_sanitizer"],
        deps = deps,
        **kwargs
    )

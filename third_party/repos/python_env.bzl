# SPDX-License-Identifier: Apache-2.0
"""A Python environment installed from a hash-locked requirements file.

Note [Header folders as labels]
The torch wheel has about ten thousand headers. Listed one by one, each compile
action would link all of them into its sandbox. The repository therefore links
the FOLDER and names that folder as the header: Bazel hashes its contents for
the caches but makes one link. Sound, because the environment is named by the
hash of the lock and never changes.
"""

def _impl(rctx):
    python = rctx.os.environ.get("DIPU_PYTHON", "python3.11")
    if not rctx.which(python):
        fail("python_env: %s not found; install Python 3.11 or set DIPU_PYTHON" %
             python)
    rctx.report_progress("installing the locked Python packages (minutes)")
    script = rctx.path(Label("//third_party/repos:install_env.py"))
    result = rctx.execute(
        [python, script, rctx.path(rctx.attr.lock)],
        timeout = 3600,
    )
    if result.return_code != 0:
        fail("python_env: installing %s with %s did not work:\n%s%s" %
             (rctx.attr.lock, python, result.stdout, result.stderr))
    env = {}
    for line in result.stdout.splitlines():
        key, _, value = line.partition("=")
        env[key] = value
    site = env["site"]
    links = {
        env["include"]: "python_include",
        env["root"] + "/include/oneapi": "onednn_include/oneapi",
        env["root"] + "/lib/libdnnl.so.3": "onednn_lib/libdnnl.so.3",
        env["root"] + "/share/doc/onednn": "licenses/onednn",
        site + "/pybind11/include": "pybind11_include",
        site + "/scipy_openblas32/include": "openblas_include",
        site + "/scipy_openblas32/lib": "openblas_lib",
        site + "/torch/include": "torch_include",
        site + "/torch/lib": "torch_lib",
    }
    for entry in rctx.path(site).readdir():
        if entry.basename.startswith("scipy_openblas32-"):
            links[str(entry) + "/licenses"] = "licenses/openblas"
    for target, name in links.items():
        rctx.symlink(target, name)
    rctx.file("env.stamp", env["key"] + "\n")
    rctx.template(
        "BUILD.bazel",
        Label("//third_party/repos:pyenv.BUILD.tpl"),
        {"{python}": env["python"]},
    )

python_env = repository_rule(
    implementation = _impl,
    attrs = {"lock": attr.label(mandatory = True)},
    doc = "Installs the locked packages once per machine and exposes them.",
    environ = ["DIPU_PYTHON", "XDG_CACHE_HOME", "HOME"],
)

# SPDX-License-Identifier: Apache-2.0
"""Installs a hash-locked requirements file into a shared virtual environment.

Usage: install_env.py <lock>. The folder is named by a hash of the lock and the
interpreter, so every clone on a machine shares one copy; nothing may change it
afterwards. Prints `key=value` lines that say where things are.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig


def environment_key(lock: pathlib.Path) -> str:
    """Names the environment: same key, same contents."""
    digest = hashlib.sha256(lock.read_bytes())
    digest.update(sys.version.encode())
    digest.update(os.path.realpath(sys.executable).encode())
    return digest.hexdigest()[:16]


def install(env: pathlib.Path, lock: pathlib.Path) -> None:
    """Creates the environment; a half-made one has no COMPLETE file."""
    shutil.rmtree(env, ignore_errors=True)
    base = os.path.realpath(sys.executable)
    subprocess.check_call([base, "-m", "venv", str(env)], stdout=sys.stderr)
    pip = [str(env / "bin" / "python3"), "-m", "pip", "install", "--no-input"]
    pip += ["--quiet", "--require-hashes", "--no-deps", "-r", str(lock)]
    subprocess.check_call(pip, stdout=sys.stderr)
    (env / "COMPLETE").touch()


def main() -> None:
    lock = pathlib.Path(sys.argv[1]).resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    env = pathlib.Path(cache) / "dipu" / f"pyenv-{environment_key(lock)}"
    env.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{env}.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (env / "COMPLETE").exists():
            install(env, lock)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    print(f"python={env}/bin/python3")
    print(f"root={env}")
    print(f"site={env}/lib/{version}/site-packages")
    print(f"include={sysconfig.get_paths()['include']}")
    print(f"key={env.name}")


if __name__ == "__main__":
    main()

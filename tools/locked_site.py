# SPDX-License-Identifier: Apache-2.0
"""Prints the site-packages folder of the locked environment."""

import sysconfig

if __name__ == "__main__":
    print(sysconfig.get_paths()["purelib"])

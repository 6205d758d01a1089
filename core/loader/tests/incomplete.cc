// SPDX-License-Identifier: Apache-2.0
namespace sdk {
int openCard(int index);
}

// A library of an SDK that was installed by halves.
extern "C" int unrelated() { return sdk::openCard(0); }

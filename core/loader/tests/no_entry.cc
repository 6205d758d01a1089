// SPDX-License-Identifier: Apache-2.0
extern "C" int unrelated() { return 1; }

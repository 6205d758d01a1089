// SPDX-License-Identifier: Apache-2.0
//
// Stands for torch's library, by its name.
extern "C" int planted_torch() { return 1; }

// SPDX-License-Identifier: Apache-2.0
//
// Exports the entry point's name, but no function.
extern "C" {
int dipu_vendor_query = 5;
}

// SPDX-License-Identifier: Apache-2.0
//
// A common mistake: no header that declares it, no extern "C".
const void* dipu_vendor_query(unsigned) { return nullptr; }

// SPDX-License-Identifier: Apache-2.0
#include "core/abi/vendor_api.h"

const dipu_vendor* dipu_vendor_query(uint32_t) { return nullptr; }

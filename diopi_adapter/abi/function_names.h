// SPDX-License-Identifier: Apache-2.0
//
// The names of the contract's functions, for data files that name them.
#pragma once

#include <string_view>

namespace dipu::diopi {

// Whether the contract has a function called `name` ("diopiAdd").
bool isFunction(std::string_view name) noexcept;

}  // namespace dipu::diopi

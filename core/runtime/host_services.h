// SPDX-License-Identifier: Apache-2.0
//
// What the host offers to the vendor, see dipu_host_services.
#pragma once

#include "core/abi/base.h"

namespace dipu::runtime {

// Warnings of the vendor become Python warnings, each text once; other lines
// go to torch's log. Lives as long as the process.
const dipu_host_services& hostServices() noexcept;

}  // namespace dipu::runtime

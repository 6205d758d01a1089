// SPDX-License-Identifier: Apache-2.0
//
// What is known of work that failed on a device long after it was enqueued.
#pragma once

#include <cstdint>
#include <string>

namespace dipu::runtime {

// Called when DIPU_INTERNAL of `device` is thrown (error.h), which as a rule
// concerns work that was enqueued earlier. Returns what is to be appended to
// `message`; may be empty. Called by any thread. Must not use the device.
using Explainer = std::string (*)(int32_t device, const std::string& message);

// Null, as at the start: messages say how to find out. Any thread, at any time.
void setExplainer(Explainer explainer) noexcept;

}  // namespace dipu::runtime

// SPDX-License-Identifier: Apache-2.0
//
// One registration function per source of this folder; internal to it.
#pragma once

#include <torch/library.h>

#include "diopi_adapter/runtime/slot.h"

namespace dipu::aten {

// Registers a function of this folder behind a slot. What makes or views
// tensors or waits has none, and that of a copy is for tools that only look at
// it (debug::copyOperators): no debug tool may take their place.
using adapter::bind;

// Each adds its kernels to `library`, which stands for aten on the device's
// dispatch key.
void registerFactories(torch::Library& library);
void registerViews(torch::Library& library);
void registerResize(torch::Library& library);
void registerCopy(torch::Library& library);
void registerScalar(torch::Library& library);
void registerRandom(torch::Library& library);
void registerSampling(torch::Library& library);
void registerDistributions(torch::Library& library);
void registerConvolution(torch::Library& library);
void registerSlowConvolution(torch::Library& library);
void registerOptimizers(torch::Library& library);
void registerRecurrent(torch::Library& library);
void registerSearching(torch::Library& library);
void registerUnique(torch::Library& library);
void registerHistogram(torch::Library& library);
void registerComposite(torch::Library& library);
void registerActivations(torch::Library& library);
void registerCtcLoss(torch::Library& library);
void registerCompositeArithmetic(torch::Library& library);
void registerProducts(torch::Library& library);
void registerAttention(torch::Library& library);

}  // namespace dipu::aten

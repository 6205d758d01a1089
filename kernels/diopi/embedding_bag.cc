// SPDX-License-Identifier: Apache-2.0
//
// Embedding bags, which DIOPI lacks, and limits of the norms of embeddings.
#include "kernels/compute/embedding_bag.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiExtEmbeddingBag(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiTensorHandle_t offset2bag, diopiTensorHandle_t bag_size,
    diopiTensorHandle_t max_indices, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t indices, diopiConstTensorHandle_t offsets,
    int64_t mode, diopiConstTensorHandle_t per_sample_weights,
    bool include_last_offset, int64_t padding_idx) {
  const BagResults results{view(out), view(offset2bag), view(bag_size),
                           view(max_indices)};
  const BagArguments arguments{view(weight),
                               view(indices),
                               view(offsets),
                               view(per_sample_weights),
                               static_cast<BagMode>(mode),
                               include_last_offset,
                               padding_idx};
  return done(embeddingBag(queueOf(ctx), results, arguments));
}

diopiError_t diopiExtEmbeddingBagBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_weight,
    diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices,
    diopiConstTensorHandle_t offset2bag, diopiConstTensorHandle_t bag_size,
    diopiConstTensorHandle_t max_indices, bool scale_grad_by_freq, int64_t mode,
    diopiConstTensorHandle_t per_sample_weights, int64_t padding_idx) {
  const BagGradient gradient{view(grad),
                             view(indices),
                             view(offset2bag),
                             view(bag_size),
                             view(max_indices),
                             view(per_sample_weights),
                             static_cast<BagMode>(mode),
                             scale_grad_by_freq,
                             padding_idx};
  return done(embeddingBagBackward(queueOf(ctx), view(grad_weight), gradient));
}

diopiError_t diopiExtEmbeddingBagPerSampleWeightsBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t grad, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t indices, diopiConstTensorHandle_t offset2bag,
    int64_t padding_idx) {
  return done(embeddingBagSampleGradient(queueOf(ctx), view(out), view(grad),
                                         view(weight), view(indices),
                                         view(offset2bag), padding_idx));
}

diopiError_t diopiExtEmbeddingRenorm(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t weight,
                                     diopiConstTensorHandle_t indices,
                                     double max_norm, double norm_type) {
  return done(embeddingRenorm(queueOf(ctx), view(weight), view(indices),
                              max_norm, norm_type));
}

diopiError_t diopiEmbeddingRenorm_(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t inout,
                                   diopiConstTensorHandle_t indices,
                                   double max_norm, double norm_type) {
  return done(embeddingRenorm(queueOf(ctx), view(inout), view(indices),
                              max_norm, norm_type));
}

}  // extern "C"

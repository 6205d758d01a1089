// SPDX-License-Identifier: Apache-2.0
//
// Distances of points, limited norms and shuffled channels.
#include "kernels/compute/distance.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/renorm.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

// Distances are always taken directly, whatever `compute_mode` allows.
diopiError_t diopiCdist(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input1,
                        diopiConstTensorHandle_t input2, double p,
                        const int64_t* /*compute_mode*/) {
  return done(cdist(queueOf(ctx), view(out), view(input1), view(input2), p));
}

diopiError_t diopiCdistBackward(diopiContextHandle_t ctx,
                                diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output,
                                diopiConstTensorHandle_t input1,
                                diopiConstTensorHandle_t input2, double p,
                                diopiConstTensorHandle_t distances) {
  return done(cdistBackward(queueOf(ctx), view(grad_input), view(grad_output),
                            view(input1), view(input2), view(distances), p));
}

diopiError_t diopiExtPdist(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, double p) {
  return done(pdist(queueOf(ctx), view(out), view(input), p));
}

diopiError_t diopiExtPdistBackward(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t grad_input,
                                   diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t input, double p,
                                   diopiConstTensorHandle_t distances) {
  return done(pdistBackward(queueOf(ctx), view(grad_input), view(grad_output),
                            view(input), view(distances), p));
}

diopiError_t diopiExtRenorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* p, int64_t dim,
                            const diopiScalar_t* maxnorm) {
  return done(renorm(queueOf(ctx), view(out), view(input),
                     scalar(p).to<double>(), dim,
                     scalar(maxnorm).to<double>()));
}

diopiError_t diopiExtChannelShuffle(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input,
                                    int64_t groups) {
  return done(channelShuffle(queueOf(ctx), view(out), view(input), groups));
}

}  // extern "C"

// Shape functions of layers, losses and rankings.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status BatchNorm(ShapeContext& c);  // FusedBatchNorm and its later versions
absl::Status BiasAddGrad(ShapeContext& c);
absl::Status CrossEntropy(ShapeContext& c);  // of dense labels, which broadcast with the logits
absl::Status ApproxTopK(ShapeContext& c);
absl::Status CtcBeamSearchDecoder(ShapeContext& c);
absl::Status AudioSpectrogram(ShapeContext& c);
// Transforms between real and complex numbers, over the innermost dimensions that input 1 has sizes
// for. Of a spectrum only half is kept.
absl::Status RealFft(ShapeContext& c);
absl::Status InverseRealFft(ShapeContext& c);

}  // namespace shape
}  // namespace tessera

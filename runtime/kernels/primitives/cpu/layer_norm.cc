#include "runtime/kernels/primitives/layer_norm.h"

#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/layer_norm_rows.h"

namespace tessera {
namespace {

absl::Status RunLayerNorm(KernelContext& ctx, const LayerNorm::Operands& operands) {
  static const auto normalise = HasAvx512() ? avx512::Normalise : avx2::Normalise;
  const int64_t columns = operands.columns;
  const float* const x = operands.x.data<float>();
  const float* const addend = operands.addend == nullptr ? nullptr : operands.addend->data<float>();
  const float* const gamma = operands.gamma.data<float>();
  const float* const beta = operands.beta.data<float>();
  float* const y = operands.y->data<float>();
  ctx.ParallelFor(operands.rows, 0.7 * static_cast<double>(columns),
                  [&](int64_t begin, int64_t end) {
                    const int64_t first = begin * columns;
                    normalise({.rows = end - begin,
                               .columns = columns,
                               .x = x + first,
                               .addend = addend == nullptr ? nullptr : addend + first,
                               .gamma = gamma,
                               .beta = beta,
                               .epsilon = operands.epsilon,
                               .y = y + first});
                  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(LayerNorm, kCpu, RunLayerNorm);

}  // namespace
}  // namespace tessera

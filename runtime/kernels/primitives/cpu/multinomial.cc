#include "runtime/kernels/primitives/multinomial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/primitives/math/vector_functions.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

// Running totals of exp(logit - max).
template <typename T>
void RunningTotals(const T* logits, int64_t classes, std::vector<double>* totals) {
  double max = -INFINITY;
  for (int64_t i = 0; i < classes; ++i) {
    const double logit = static_cast<double>(logits[i]);
    if (std::isfinite(logit)) max = std::max(max, logit);
  }
  double* const out = totals->data();
  for (int64_t i = 0; i < classes; ++i) out[i] = std::exp(static_cast<double>(logits[i]) - max);
  double total = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (std::isfinite(static_cast<double>(logits[i]))) total += out[i];
    out[i] = total;
  }
}

// Returns the numbers of a generator without the first `left_out` ones.
PhiloxStream StreamAt(Philox generator, int64_t left_out) {
  generator.Skip(static_cast<uint64_t>(left_out / Philox::kBlockSize));
  PhiloxStream numbers(generator);
  for (int64_t i = 0; i < left_out % Philox::kBlockSize; ++i) numbers.Next();
  return numbers;
}

absl::Status RunMultinomial(KernelContext& ctx, const PhiloxSource& source, const Tensor& logits,
                            Tensor* samples) {
  if (samples->num_elements() == 0) return absl::OkStatus();
  const Philox generator = GeneratorOf(source);
  const int64_t draws = samples->dim(1), classes = logits.dim(1);
  return VisitRealType(logits.dtype(), [&]<typename T>() {
    const double cost = 5.0 * static_cast<double>(classes) + 20.0 * static_cast<double>(draws);
    ctx.ParallelFor(logits.dim(0), cost, [&](int64_t first, int64_t end) {
      PhiloxStream numbers = StreamAt(generator, 2 * first * draws);
      std::vector<double> totals(classes);
      for (int64_t row = first; row < end; ++row) {
        RunningTotals(logits.data<T>() + row * classes, classes, &totals);
        for (int64_t i = row * draws; i < (row + 1) * draws; ++i) {
          const uint32_t x0 = numbers.Next(), x1 = numbers.Next();
          const double target = UnitDouble(x0, x1) * totals.back();
          const int64_t drawn =
              std::upper_bound(totals.begin(), totals.end(), target) - totals.begin();
          if (samples->dtype() == DType::kInt32) {
            samples->data<int32_t>()[i] = static_cast<int32_t>(drawn);
          } else {
            samples->data<int64_t>()[i] = drawn;
          }
        }
      }
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(Multinomial, kCpu, RunMultinomial);

}  // namespace
}  // namespace tessera

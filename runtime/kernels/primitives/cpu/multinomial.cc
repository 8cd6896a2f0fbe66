#include "runtime/kernels/primitives/multinomial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/kernels/primitives/math/vector_functions.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

// The number of rows whose running totals are computed together. An addition waits for the previous
// one of its row, but not for those of other rows.
constexpr int64_t kRows = 4;

// Returns the largest finite number, or -infinity if there is none.
double LargestFinite(const double* values, int64_t count) {
  typedef double Vector __attribute__((vector_size(32)));
  constexpr int64_t kLanes = 4;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  Vector largest = Vector{} + kNone;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector next;
    std::memcpy(&next, values + i, sizeof(next));
    next = next - next == 0 ? next : kNone;
    largest = largest < next ? next : largest;
  }
  double result = kNone;
  for (int lane = 0; lane < kLanes; ++lane) result = std::max(result, largest[lane]);
  for (; i < count; ++i) {
    if (std::isfinite(values[i])) result = std::max(result, values[i]);
  }
  return result;
}

// Sets `terms` to exp(logit - max), and to 0 where the logit is not finite.
template <typename T>
void Exponentials(const T* logits, int64_t classes, double* terms) {
  for (int64_t i = 0; i < classes; ++i) terms[i] = static_cast<double>(logits[i]);
  const double max = LargestFinite(terms, classes);
  for (int64_t i = 0; i < classes; ++i) {
    const double logit = terms[i], term = std::exp(logit - max);
    terms[i] = logit - logit == 0 ? term : 0;
  }
}

// Replaces the terms of up to kRows rows by their running totals.
void RunTotals(int64_t rows, int64_t classes, double* terms) {
  if (rows == kRows) {
    double totals[kRows] = {};
    for (int64_t i = 0; i < classes; ++i) {
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        terms[r * classes + i] = totals[r] += terms[r * classes + i];
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    std::partial_sum(terms + r * classes, terms + (r + 1) * classes, terms + r * classes);
  }
}

// Returns the numbers of a generator after the first `left_out` ones.
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
      std::vector<double> all_totals(kRows * classes);
      for (int64_t row = first; row < end; ++row) {
        const int64_t at = (row - first) % kRows;
        if (at == 0) {
          const int64_t rows = std::min(kRows, end - row);
          for (int64_t r = 0; r < rows; ++r) {
            Exponentials(logits.data<T>() + (row + r) * classes, classes,
                         all_totals.data() + r * classes);
          }
          RunTotals(rows, classes, all_totals.data());
        }
        const absl::Span<const double> totals =
            absl::MakeSpan(all_totals).subspan(at * classes, classes);
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

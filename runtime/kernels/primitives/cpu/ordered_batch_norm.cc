#include "runtime/kernels/primitives/cpu/ordered_batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "Eigen/Core"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"

namespace tessera {
namespace {

constexpr int64_t kLanes = 8;
// Rows from which on four accumulators take turns for each column of whole vectors.
constexpr int64_t kManyRows = 16;

enum class Order { kRows, kTurns };

// Neighbouring channels, as many as a vector has lanes or the last ones, and kSums float sums for
// each.
template <int kSums, typename Term>
struct ChannelBlock {
  using Sums = float[kSums][kLanes];

  // Adds every step-th row from `begin` to `end`, in order.
  void Add(int64_t begin, int64_t end, int64_t step, Sums* sums) const {
    for (int64_t row = begin; row < end; row += step) {
      for (int64_t lane = 0; lane < width; ++lane) {
        const int64_t c = first + lane;
        const std::array<float, kSums> terms = term(row * channels + c, c);
        for (int s = 0; s < kSums; ++s) (*sums)[s][lane] += terms[s];
      }
    }
  }

  void AddInTurns(int64_t rows, Sums* sums) const {
    const int64_t whole = rows / 4 * 4;
    Add(0, whole, 4, sums);
    for (int64_t turn = 1; turn < 4; ++turn) {
      Sums others = {};
      Add(turn, whole, 4, &others);
      for (int s = 0; s < kSums; ++s) {
        for (int64_t lane = 0; lane < width; ++lane) (*sums)[s][lane] += others[s][lane];
      }
    }
    Add(whole, rows, 1, sums);
  }

  const Term& term;
  int64_t channels, first, width;
};

// Returns kSums vectors of sums, one behind the other, of `term(i, c)` over all elements i of each
// channel c.
template <int kSums, typename Term>
std::vector<float> SumRows(KernelContext& ctx, const ChannelShape& shape, Order order,
                           const Term& term) {
  const int64_t channels = shape.channels, rows = shape.outer;
  std::vector<float> sums(kSums * channels);
  ctx.ParallelFor((channels + kLanes - 1) / kLanes, 0.5 * static_cast<double>(rows * kLanes),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t first = begin * kLanes; first < std::min(end * kLanes, channels);
                         first += kLanes) {
                      const ChannelBlock<kSums, Term> block{term, channels, first,
                                                            std::min(kLanes, channels - first)};
                      float of_block[kSums][kLanes] = {};
                      if (order == Order::kTurns && block.width == kLanes && rows >= kManyRows) {
                        block.AddInTurns(rows, &of_block);
                      } else {
                        block.Add(0, rows, 1, &of_block);
                      }
                      for (int s = 0; s < kSums; ++s) {
                        std::copy_n(of_block[s], block.width, sums.data() + s * channels + first);
                      }
                    }
                  });
  return sums;
}

// Sets y[i] = value(i, c) for each element i and its channel c.
template <typename Value>
void SetElements(KernelContext& ctx, const ChannelShape& shape, Tensor* y, const Value& value) {
  const int64_t channels = shape.channels;
  auto* const to = y->data<Eigen::half>();
  ctx.ParallelFor(shape.outer, static_cast<double>(channels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < channels; ++c) {
        to[row * channels + c] = static_cast<Eigen::half>(value(row * channels + c, c));
      }
    }
  });
}

float ReciprocalRoot(float x) { return 1.0f / std::sqrt(x); }

}  // namespace

bool HasOrderedBatchNorm(const Tensor& x, const ChannelShape& shape) {
  return x.dtype() == DType::kHalf && x.num_elements() > 0 && shape.inner == 1;
}

absl::Status BatchNormInOrder(KernelContext& ctx, const BatchNorm::Operands& operands,
                              const std::vector<float>& scale, const std::vector<float>& offset,
                              std::vector<float>* mean, std::vector<float>* variance) {
  ASSIGN_OR_RETURN(const Tensor wide, WidenToFloat(operands.x, ctx.host_allocator()));
  const float* const x = wide.data<float>();
  const ChannelShape& shape = operands.shape;
  const float share = 1.0f / static_cast<float>(shape.outer);
  const auto average = [&](const auto& term) {
    std::vector<float> sums = SumRows<1>(ctx, shape, Order::kTurns, term);
    for (float& sum : sums) sum *= share;
    return sums;
  };
  *mean = average([x](int64_t i, int64_t) { return std::array{x[i]}; });
  const float* const means = mean->data();
  *variance = average([x, means](int64_t i, int64_t c) {
    const float centered = x[i] - means[c];
    return std::array{centered * centered};
  });
  std::vector<float> factors(shape.channels);
  for (int64_t c = 0; c < shape.channels; ++c) {
    factors[c] = ReciprocalRoot((*variance)[c] + operands.epsilon) * scale[c];
  }
  SetElements(ctx, shape, operands.y,
              [x, means, factor = factors.data(), offset = offset.data()](int64_t i, int64_t c) {
                return (x[i] - means[c]) * factor[c] + offset[c];
              });
  return absl::OkStatus();
}

absl::Status BatchNormGradientInOrder(KernelContext& ctx,
                                      const BatchNormGradient::Operands& operands) {
  ASSIGN_OR_RETURN(const Tensor wide_dy, WidenToFloat(operands.dy, ctx.host_allocator()));
  ASSIGN_OR_RETURN(const Tensor wide_x, WidenToFloat(operands.x, ctx.host_allocator()));
  const float* const dy = wide_dy.data<float>();
  const float* const x = wide_x.data<float>();
  const float* const mean = operands.mean.data<float>();
  const ChannelShape& shape = operands.shape;
  const int64_t channels = shape.channels;
  std::vector<float> roots(channels);
  for (int64_t c = 0; c < channels; ++c) {
    roots[c] = ReciprocalRoot(operands.variance.data<float>()[c] + operands.epsilon);
  }
  // Sums of dy, of dy times the normalised x, and of dy times the centred x.
  const std::vector<float> sums =
      SumRows<3>(ctx, shape, Order::kRows, [=, root = roots.data()](int64_t i, int64_t c) {
        const float centered = x[i] - mean[c];
        return std::array{dy[i], dy[i] * (centered * root[c]), dy[i] * centered};
      });
  const float share = 1.0f / static_cast<float>(shape.outer);
  std::vector<float> factors(channels), averages(channels), slopes(channels);
  for (int64_t c = 0; c < channels; ++c) {
    factors[c] = operands.scale.data<float>()[c] * roots[c];
    averages[c] = sums[c] * share;
    slopes[c] = roots[c] * roots[c] * (sums[2 * channels + c] * share);
  }
  std::copy_n(sums.data(), channels, operands.doffset->data<float>());
  std::copy_n(sums.data() + channels, channels, operands.dscale->data<float>());
  SetElements(ctx, shape, operands.dx,
              [=, factor = factors.data(), average = averages.data(), slope = slopes.data()](
                  int64_t i, int64_t c) {
                return factor[c] * ((dy[i] - average[c]) - (x[i] - mean[c]) * slope[c]);
              });
  return absl::OkStatus();
}

}  // namespace tessera

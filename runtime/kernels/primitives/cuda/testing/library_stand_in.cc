#include "runtime/kernels/primitives/cuda/testing/library_stand_in.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cuda/neural_library.h"

namespace tessera::cuda {
namespace {

bool is_on = false;
int calls = 0;

double Load(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kHalf:
      return static_cast<double>(reinterpret_cast<const Eigen::half*>(t.raw())[i]);
    case DType::kBfloat16:
      return static_cast<double>(reinterpret_cast<const Eigen::bfloat16*>(t.raw())[i]);
    default:
      return reinterpret_cast<const float*>(t.raw())[i];
  }
}
void Store(const Tensor& t, int64_t i, double value) {
  switch (t.dtype()) {
    case DType::kHalf:
      reinterpret_cast<Eigen::half*>(t.address())[i] = Eigen::half(static_cast<float>(value));
      break;
    case DType::kBfloat16:
      reinterpret_cast<Eigen::bfloat16*>(t.address())[i] =
          Eigen::bfloat16(static_cast<float>(value));
      break;
    default:
      reinterpret_cast<float*>(t.address())[i] = static_cast<float>(value);
  }
}

// Calls visit(point) for each point of a channel of [outer, channels, inner].
template <typename Visitor>
void ForPoints(const ChannelShape& s, int64_t channel, Visitor visit) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) visit((o * s.channels + channel) * s.inner + i);
  }
}

}  // namespace

LibraryStandIn::LibraryStandIn() {
  is_on = true;
  calls = 0;
}
LibraryStandIn::~LibraryStandIn() { is_on = false; }
int LibraryStandIn::num_calls() const { return calls; }

bool StandInTakes() {
  if (is_on) ++calls;
  return is_on;
}
bool HasStandIn() { return is_on; }

// Pools need nothing around them that could be tested.
absl::StatusOr<bool> PoolByLibrary(KernelContext&, PoolMode, const PoolShape&, const Tensor&,
                                   const Tensor&) {
  return false;
}

absl::StatusOr<bool> BatchNormByLibrary(KernelContext&, const LibraryBatchNorm& o) {
  if (!StandInTakes()) return false;
  const double count = static_cast<double>(o.shape.outer * o.shape.inner);
  for (int64_t c = 0; c < o.shape.channels; ++c) {
    double sum = 0, squares = 0;
    ForPoints(o.shape, c, [&](int64_t i) { sum += Load(o.x, i); });
    const double mean = sum / count;
    ForPoints(o.shape, c, [&](int64_t i) { squares += std::pow(Load(o.x, i) - mean, 2); });
    const double inverse = 1 / std::sqrt(squares / count + o.epsilon);
    ForPoints(o.shape, c, [&](int64_t i) {
      Store(o.y, i, (Load(o.x, i) - mean) * inverse * Load(o.scale, c) + Load(o.offset, c));
    });
    Store(o.mean, c, mean);
    Store(o.inverse_deviation, c, inverse);
    // A share of 1 of what is new, and nothing of what was there.
    Store(o.moving_mean, c, 0 * Load(o.zeros, c) + mean);
    Store(o.unbiased_variance, c, 0 * Load(o.zeros, c) + squares / (count - 1));
  }
  return true;
}

absl::StatusOr<bool> BatchNormGradientByLibrary(KernelContext&, const LibraryBatchNormGradient& o) {
  if (!StandInTakes()) return false;
  const double count = static_cast<double>(o.shape.outer * o.shape.inner);
  for (int64_t c = 0; c < o.shape.channels; ++c) {
    const double mean = Load(o.mean, c), inverse = Load(o.inverse_deviation, c);
    double sum = 0, products = 0;
    ForPoints(o.shape, c, [&](int64_t i) {
      sum += Load(o.dy, i);
      products += Load(o.dy, i) * (Load(o.x, i) - mean) * inverse;
    });
    ForPoints(o.shape, c, [&](int64_t i) {
      const double normal = (Load(o.x, i) - mean) * inverse;
      Store(o.dx, i,
            Load(o.scale, c) * inverse * (Load(o.dy, i) - sum / count - normal * products / count));
    });
    Store(o.dscale, c, products);
    Store(o.doffset, c, sum);
  }
  return true;
}

absl::StatusOr<bool> AttendByLibrary(KernelContext&, const AttentionInputs& in,
                                     const AttentionBias* bias, const Tensor& output) {
  if (!StandInTakes()) return false;
  const Tensor &query = *in.query, &key = *in.key, &value = *in.value;
  const auto begin = [](const Tensor& t, const AttentionOrder& order, int64_t i, int64_t h,
                        int64_t token) {
    return order.Begin(t, i, h) + token * order.token_stride(t);
  };
  const auto bias_at = [&](const int64_t(&at)[4]) {
    int64_t index = 0;
    for (int d = 0; d < 4; ++d) {
      index = index * bias->shape.dim(d) + (bias->shape.dim(d) == 1 ? 0 : at[d]);
    }
    return Load(bias->values, index);
  };
  std::vector<double> weights(in.keys);
  for (int64_t i = 0; i < in.batch; ++i) {
    for (int64_t h = 0; h < in.heads; ++h) {
      for (int64_t q = 0; q < in.queries; ++q) {
        double greatest = -std::numeric_limits<double>::infinity(), total = 0;
        const int64_t from = begin(query, in.query_order, i, h, q);
        for (int64_t k = 0; k < in.keys; ++k) {
          const int64_t to = begin(key, in.key_order, i, h, k);
          double score = 0;
          for (int64_t f = 0; f < query.dim(3); ++f)
            score += Load(query, from + f) * Load(key, to + f);
          // Scores are floats.
          weights[k] = static_cast<float>(score * in.scale);
          if (bias != nullptr) weights[k] = static_cast<float>(weights[k] + bias_at({i, h, q, k}));
          greatest = std::max(greatest, weights[k]);
        }
        for (double& weight : weights) total += weight = std::exp(weight - greatest);
        const int64_t place = begin(output, in.output_order, i, h, q);
        for (int64_t f = 0; f < value.dim(3); ++f) {
          double sum = 0;
          for (int64_t k = 0; k < in.keys; ++k) {
            sum += weights[k] * Load(value, begin(value, in.value_order, i, h, k) + f);
          }
          Store(output, place + f, sum / total);
        }
      }
    }
  }
  return true;
}

}  // namespace tessera::cuda

#include "runtime/kernels/primitives/local_response.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The range [begin, end) of the channels by which one channel is normalised.
struct Neighbours {
  Neighbours(const LocalResponseOptions& options, int64_t c, int64_t channels)
      : begin(std::max<int64_t>(c - options.radius, 0)),
        end(c + 1 > channels - options.radius ? channels : c + options.radius + 1) {}
  const int64_t begin, end;
};

// Computes the base of the power for each channel of a pixel.
template <typename T>
void Norms(const LocalResponseOptions& options, const T* x, int64_t channels, float* norms) {
  std::fill_n(norms, channels, 0.0f);
  const int64_t radius = std::min(options.radius, channels);
  for (int64_t shift = -radius; shift <= radius; ++shift) {
    const int64_t end = std::min(channels, channels - shift);
    for (int64_t c = std::max<int64_t>(0, -shift); c < end; ++c) {
      const float value = static_cast<float>(x[c + shift]);
      norms[c] += value * value;
    }
  }
  for (int64_t c = 0; c < channels; ++c) norms[c] = options.bias + options.alpha * norms[c];
}

// Raises numbers to the power -beta. The powers that models use are computed without a logarithm.
// TensorFlow takes it for all others, so that they are NaN for a negative number whatever beta is,
// and for 0 if beta is 0.
void RaiseToMinusBeta(float beta, int64_t count, float* norms) {
  if (beta == 0.5f) {
    for (int64_t i = 0; i < count; ++i) norms[i] = 1.0f / std::sqrt(norms[i]);
  } else if (beta == 0.75f) {
    for (int64_t i = 0; i < count; ++i) {
      const float root = std::sqrt(norms[i]);
      norms[i] = 1.0f / (root * std::sqrt(root));
    }
  } else if (beta == 1.0f) {
    for (int64_t i = 0; i < count; ++i) norms[i] = 1.0f / norms[i];
  } else {
    for (int64_t i = 0; i < count; ++i) norms[i] = std::exp(std::log(norms[i]) * -beta);
  }
}

absl::Status RunLocalResponse(KernelContext& ctx, const LocalResponseOptions& options,
                              int64_t channels, const Tensor& x, Tensor* y) {
  return VisitRealType(x.dtype(), [&]<typename T>() {
    ctx.ParallelFor(x.num_elements() / channels, 20.0 * channels, [&](int64_t begin, int64_t end) {
      std::vector<float> norms(channels);
      for (int64_t i = begin; i < end; ++i) {
        const T* const in = x.data<T>() + i * channels;
        Norms(options, in, channels, norms.data());
        RaiseToMinusBeta(options.beta, channels, norms.data());
        T* const out = y->data<T>() + i * channels;
        for (int64_t c = 0; c < channels; ++c) {
          out[c] = static_cast<T>(static_cast<float>(in[c]) * norms[c]);
        }
      }
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(LocalResponse, kCpu, RunLocalResponse);

absl::Status RunLocalResponseGradient(KernelContext&, const LocalResponseOptions& options,
                                      int64_t channels, const Tensor& dy, const Tensor& x,
                                      const Tensor& y, Tensor* dx) {
  return VisitRealType(x.dtype(), [&]<typename T>() {
    std::vector<float> norms(channels), sums(channels);
    for (int64_t i = 0; i < x.num_elements(); i += channels) {
      const T* const in = x.data<T>() + i;
      Norms(options, in, channels, norms.data());
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t c = 0; c < channels; ++c) {
        const Neighbours neighbours(options, c, channels);
        const float g = static_cast<float>(dy.data<T>()[i + c]);
        const float factor =
            -2 * options.alpha * options.beta * static_cast<float>(y.data<T>()[i + c]) / norms[c];
        for (int64_t k = neighbours.begin; k < neighbours.end; ++k) {
          float d = factor * static_cast<float>(in[k]);
          if (k == c) d += std::pow(norms[c], -options.beta);
          sums[k] += d * g;
        }
      }
      for (int64_t c = 0; c < channels; ++c) dx->data<T>()[i + c] = static_cast<T>(sums[c]);
    }
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(LocalResponseGradient, kCpu, RunLocalResponseGradient);

}  // namespace
}  // namespace tessera

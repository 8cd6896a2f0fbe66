// Normalisations of rows: LayerNorm and LocalResponse.
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/layer_norm.h"
#include "runtime/kernels/primitives/local_response.h"

namespace tessera::cuda {
namespace {

// `addend` may be null; `y` may be `x`.
__global__ void LayerNormRows(Rows rows, int64_t columns, float epsilon, const float* x,
                              const float* addend, const float* gamma, const float* beta,
                              float* y) {
  const auto add = [](float a, float b) { return a + b; };
  const float share = 1.0f / static_cast<float>(columns);
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t base = row * columns;
    float sum = 0;
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      const float z = addend == nullptr ? x[base + c] : x[base + c] + addend[base + c];
      // Each thread reads back only what it has written.
      y[base + c] = z;
      sum += z;
    }
    const float mean = rows.Reduce(sum, add) * share;
    float squares = 0;
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      const float difference = y[base + c] - mean;
      squares += difference * difference;
    }
    const float scale = 1.0f / std::sqrt(rows.Reduce(squares, add) * share + epsilon);
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      y[base + c] = (y[base + c] - mean) * (scale * gamma[c]) + beta[c];
    }
  }
}

absl::Status RunLayerNorm(KernelContext& ctx, const LayerNorm::Operands& operands) {
  return LaunchRows(ctx, operands.rows, operands.columns, LayerNormRows, operands.columns,
                    operands.epsilon, DataOf<const float>(operands.x),
                    operands.addend == nullptr ? nullptr : DataOf<const float>(*operands.addend),
                    DataOf<const float>(operands.gamma), DataOf<const float>(operands.beta),
                    DataOf<float>(*operands.y));
}
REGISTER_CUDA_PRIMITIVE(LayerNorm, RunLayerNorm);

// The channels of a pixel that channel c is normalised by.
struct Neighbours {
  int64_t begin, end;
  __device__ Neighbours(const LocalResponseOptions& options, int64_t c, int64_t channels)
      : begin(c > options.radius ? c - options.radius : 0),
        end(c + 1 > channels - options.radius ? channels : c + options.radius + 1) {}
};

// The base of the power for channel c of the pixel whose elements start at `pixel`.
__device__ float NormOf(const LocalResponseOptions& options, Input<float> x, int64_t pixel,
                        int64_t c, int64_t channels) {
  const Neighbours neighbours(options, c, channels);
  float sum = 0;
  for (int64_t k = neighbours.begin; k < neighbours.end; ++k) sum += x[pixel + k] * x[pixel + k];
  return options.bias + options.alpha * sum;
}

__global__ void NormaliseResponse(int64_t count, LocalResponseOptions options, int64_t channels,
                                  Input<float> x, Output<float> y) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t c = DivideIndex(i, channels).remainder;
    y.Set(i, x[i] * std::pow(NormOf(options, x, i - c, c, channels), -options.beta));
  }
}

absl::Status RunLocalResponse(KernelContext& ctx, const LocalResponseOptions& options,
                              int64_t channels, const Tensor& x, Tensor* y) {
  return LaunchItems(ctx, x.num_elements(), NormaliseResponse, x.num_elements(), options, channels,
                     Input<float>(x), Output<float>(y));
}
REGISTER_CUDA_PRIMITIVE(LocalResponse, RunLocalResponse);

// Each thread gathers what the neighbours of its element contribute.
__global__ void LocalResponseGradients(int64_t count, LocalResponseOptions options,
                                       int64_t channels, Input<float> dy, Input<float> x,
                                       Input<float> y, Output<float> dx) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t k = DivideIndex(i, channels).remainder, pixel = i - k;
    const Neighbours neighbours(options, k, channels);
    float sum = 0;
    for (int64_t c = neighbours.begin; c < neighbours.end; ++c) {
      const float norm = NormOf(options, x, pixel, c, channels);
      float d = -2 * options.alpha * options.beta * y[pixel + c] / norm * x[i];
      if (c == k) d += std::pow(norm, -options.beta);
      sum += d * dy[pixel + c];
    }
    dx.Set(i, sum);
  }
}

absl::Status RunLocalResponseGradient(KernelContext& ctx, const LocalResponseOptions& options,
                                      int64_t channels, const Tensor& dy, const Tensor& x,
                                      const Tensor& y, Tensor* dx) {
  return LaunchItems(ctx, x.num_elements(), LocalResponseGradients, x.num_elements(), options,
                     channels, Input<float>(dy), Input<float>(x), Input<float>(y),
                     Output<float>(dx));
}
REGISTER_CUDA_PRIMITIVE(LocalResponseGradient, RunLocalResponseGradient);

}  // namespace
}  // namespace tessera::cuda

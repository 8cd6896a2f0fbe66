// Rounding to numbers of 8 bits.
#include <algorithm>

#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/fp8.h"
#include "runtime/kernels/primitives/cuda/launch.h"

namespace tessera::cuda {
namespace {

// The size of a finite value; 0 for others.
__device__ float FiniteSize(float value) {
  const float size = value < 0 ? -value : value;
  return IsFiniteSize(size) ? size : 0.0f;
}

__device__ float Greater(float a, float b) { return a < b ? b : a; }

// Writes the greatest size of each part of the values.
__global__ void MeasureParts(Rows parts, int64_t count, Input<float> values, float* greatest) {
  for (int64_t part = parts.First(); part < parts.count; part += parts.Step()) {
    float size = 0;
    for (int64_t i = part * parts.threads + parts.Lane(); i < count;
         i += parts.count * parts.threads) {
      size = Greater(size, FiniteSize(values[i]));
    }
    size = parts.Reduce(size, Greater);
    if (parts.Lane() == 0) greatest[part] = size;
  }
}

__global__ void FindScale(Rows rows, int64_t parts, const float* greatest, float* scale) {
  float size = 0;
  for (int64_t i = rows.Lane(); i < parts; i += rows.threads) size = Greater(size, greatest[i]);
  size = rows.Reduce(size, Greater);
  if (rows.Lane() == 0) *scale = E4m3Scale(size);
}

__global__ void RoundElements(int64_t count, Input<float> values, const float* scale,
                              uint8_t* rounded) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    rounded[i] = E4m3OfFloat(values[i] / *scale);
  }
}

}  // namespace

absl::Status RunQuantise(KernelContext& ctx, const Tensor& values, E4m3Matrix* result) {
  constexpr int64_t kMaxParts = 1024;
  const int64_t count = values.num_elements();
  const int64_t parts =
      std::clamp<int64_t>((count + kBlockThreads - 1) / kBlockThreads, 1, kMaxParts);
  ASSIGN_OR_RETURN(Tensor greatest, ctx.AllocateTemp(DType::kFloat, Shape{parts}));
  const Input<float> input(values);
  float *const sizes = DataOf<float>(greatest), *const scale = DataOf<float>(result->scale);
  RETURN_IF_ERROR(
      LaunchBlocks(ctx, parts, MeasureParts, Rows{parts, kBlockThreads}, count, input, sizes));
  RETURN_IF_ERROR(LaunchBlocks(ctx, 1, FindScale, Rows{1, kBlockThreads}, parts, sizes, scale));
  return LaunchItems(ctx, count, RoundElements, count, input, scale,
                     DataOf<uint8_t>(result->values));
}

absl::StatusOr<std::optional<E4m3Matrix>> QuantiseWeights(const Tensor& weights, bool transpose_b) {
  constexpr int64_t kMultiple = 16;
  if (!Contains(kNarrowFloat | DTypes(DType::kFloat), weights.dtype()) || weights.rank() != 2 ||
      weights.num_elements() == 0 || weights.dim(0) % kMultiple != 0 ||
      weights.dim(1) % kMultiple != 0) {
    return std::optional<E4m3Matrix>();
  }
  const int64_t k = weights.dim(transpose_b ? 1 : 0), n = weights.dim(transpose_b ? 0 : 1);
  E4m3Matrix matrix;
  ASSIGN_OR_RETURN(matrix.values, Tensor::Allocate(DType::kUint8, Shape{n, k}));
  ASSIGN_OR_RETURN(matrix.scale, Tensor::Allocate(DType::kFloat, Shape{1}));
  const auto load = [&](int64_t i) {
    return LoadElement<float>(weights.raw(), weights.dtype(), i);
  };
  float greatest = 0;
  for (int64_t i = 0; i < weights.num_elements(); ++i) {
    greatest = std::max(greatest, std::isfinite(load(i)) ? std::abs(load(i)) : 0.0f);
  }
  const float scale = E4m3Scale(greatest);
  *matrix.scale.data<float>() = scale;
  uint8_t* const values = matrix.values.data<uint8_t>();
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      values[row * k + i] = E4m3OfFloat(load(transpose_b ? row * k + i : i * n + row) / scale);
    }
  }
  return std::optional<E4m3Matrix>(std::move(matrix));
}

}  // namespace tessera::cuda

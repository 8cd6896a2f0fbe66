// Pools, normalisations and attention by the graph interface of cuDNN 9.
#include <limits>
#include <optional>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cuda/cudnn_attention.h"
#include "runtime/kernels/primitives/cuda/cudnn_batch_norm.h"
#include "runtime/kernels/primitives/cuda/cudnn_pooling.h"
#include "runtime/kernels/primitives/cuda/cudnn_run.h"
#include "runtime/kernels/primitives/cuda/neural_library.h"

namespace tessera::cuda {
namespace {

bool AreAligned(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    if (!IsAligned(*tensor)) return false;
  }
  return true;
}

float LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return static_cast<float>(Eigen::NumTraits<Eigen::half>::lowest());
    case DType::kBfloat16:
      return static_cast<float>(Eigen::NumTraits<Eigen::bfloat16>::lowest());
    default:
      return std::numeric_limits<float>::lowest();
  }
}

}  // namespace

absl::StatusOr<bool> PoolByLibrary(KernelContext& ctx, PoolMode mode, const PoolShape& shape,
                                   const Tensor& from, const Tensor& to) {
  const std::optional<cudnnDataType_t> type = CudnnTypeOf(from.dtype());
  if (!type.has_value() || !LoadCudnn().ok() || !AreAligned({&from, &to})) return false;
  const PoolProblem problem{mode, shape, from.dtype()};
  const float least = LowestOf(from.dtype());
  Bindings bindings;
  bindings.Add(PoolProblem::kFrom, from.address());
  bindings.Add(PoolProblem::kTo, to.address());
  if (mode == PoolMode::kMax) bindings.Add(PoolProblem::kLeast, &least);
  return RunGraph(
      ctx, problem, /*exact=*/false,
      [&](const Cudnn& cudnn) { return DescribePool(cudnn, problem, *type); }, bindings);
}

absl::StatusOr<bool> BatchNormByLibrary(KernelContext& ctx, const LibraryBatchNorm& operands) {
  using Problem = BatchNormProblem;
  const std::optional<cudnnDataType_t> type = CudnnTypeOf(operands.x.dtype());
  if (!type.has_value() || !LoadCudnn().ok() ||
      !AreAligned({&operands.x, &operands.y, &operands.scale, &operands.offset})) {
    return false;
  }
  const Problem problem{operands.shape, operands.x.dtype(), /*is_gradient=*/false};
  const float all = 1;
  Bindings bindings;
  bindings.Add(Problem::kX, operands.x.address());
  bindings.Add(Problem::kY, operands.y.address());
  bindings.Add(Problem::kScale, operands.scale.address());
  bindings.Add(Problem::kOffset, operands.offset.address());
  bindings.Add(Problem::kMean, operands.mean.address());
  bindings.Add(Problem::kInverseDeviation, operands.inverse_deviation.address());
  bindings.Add(Problem::kOldMean, operands.zeros.address());
  bindings.Add(Problem::kOldVariance, operands.zeros.address());
  bindings.Add(Problem::kNewMean, operands.moving_mean.address());
  bindings.Add(Problem::kNewVariance, operands.unbiased_variance.address());
  bindings.Add(Problem::kEpsilon, &operands.epsilon);
  bindings.Add(Problem::kShare, &all);
  return RunGraph(
      ctx, problem, /*exact=*/false,
      [&](const Cudnn& cudnn) { return DescribeBatchNorm(cudnn, problem, *type); }, bindings);
}

absl::StatusOr<bool> BatchNormGradientByLibrary(KernelContext& ctx,
                                                const LibraryBatchNormGradient& operands) {
  using Problem = BatchNormProblem;
  const std::optional<cudnnDataType_t> type = CudnnTypeOf(operands.x.dtype());
  if (!type.has_value() || !LoadCudnn().ok() ||
      !AreAligned({&operands.x, &operands.dy, &operands.dx, &operands.scale, &operands.mean,
                   &operands.dscale, &operands.doffset})) {
    return false;
  }
  const Problem problem{operands.shape, operands.x.dtype(), /*is_gradient=*/true};
  Bindings bindings;
  bindings.Add(Problem::kX, operands.x.address());
  bindings.Add(Problem::kDy, operands.dy.address());
  bindings.Add(Problem::kDx, operands.dx.address());
  bindings.Add(Problem::kScale, operands.scale.address());
  bindings.Add(Problem::kMean, operands.mean.address());
  bindings.Add(Problem::kInverseDeviation, operands.inverse_deviation.address());
  bindings.Add(Problem::kDscale, operands.dscale.address());
  bindings.Add(Problem::kDoffset, operands.doffset.address());
  return RunGraph(
      ctx, problem, /*exact=*/false,
      [&](const Cudnn& cudnn) { return DescribeBatchNorm(cudnn, problem, *type); }, bindings);
}

absl::StatusOr<bool> AttendByLibrary(KernelContext& ctx, const AttentionInputs& inputs,
                                     const AttentionBias* bias, const Tensor& output) {
  using Problem = AttentionProblem;
  const Tensor &query = *inputs.query, &key = *inputs.key, &value = *inputs.value;
  const std::optional<cudnnDataType_t> type = CudnnTypeOf(query.dtype());
  const std::optional<cudnnDataType_t> bias_type =
      bias == nullptr ? CUDNN_DATA_FLOAT : CudnnTypeOf(bias->values.dtype());
  if (!type.has_value() || *type == CUDNN_DATA_FLOAT || !bias_type.has_value() ||
      !LoadCudnn().ok() || !AreAligned({&query, &key, &value, &output}) ||
      (bias != nullptr && !IsAligned(bias->values))) {
    return false;
  }
  // Broadcast operands are left to the kernel.
  const auto fits = [&](const Tensor& t, const AttentionOrder& order, int64_t tokens) {
    return t.dim(0) == inputs.batch && order.heads(t) == inputs.heads && order.tokens(t) == tokens;
  };
  if (!fits(query, inputs.query_order, inputs.queries) ||
      !fits(key, inputs.key_order, inputs.keys) || !fits(value, inputs.value_order, inputs.keys)) {
    return false;
  }
  Problem problem{inputs.batch,       inputs.heads,        inputs.queries,     inputs.keys,
                  query.dim(3),       value.dim(3),        inputs.query_order, inputs.key_order,
                  inputs.value_order, inputs.output_order, query.dtype()};
  if (bias != nullptr) {
    problem.has_bias = true;
    problem.bias_dtype = bias->values.dtype();
    for (int d = 0; d < 4; ++d) problem.bias_dims[d] = bias->shape.dim(d);
  }
  ASSIGN_OR_RETURN(Tensor statistics,
                   ctx.AllocateTemp(DType::kFloat, {inputs.batch, inputs.heads, inputs.queries}));
  Bindings bindings;
  bindings.Add(Problem::kQuery, query.address());
  bindings.Add(Problem::kKey, key.address());
  bindings.Add(Problem::kValue, value.address());
  bindings.Add(Problem::kOutput, output.address());
  bindings.Add(Problem::kStatistics, statistics.address());
  bindings.Add(Problem::kScale, &inputs.scale);
  if (bias != nullptr) bindings.Add(Problem::kBias, bias->values.address());
  return RunGraph(
      ctx, problem, /*exact=*/false,
      [&](const Cudnn& cudnn) { return DescribeAttention(cudnn, problem, *type, *bias_type); },
      bindings);
}

}  // namespace tessera::cuda

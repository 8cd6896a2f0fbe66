// Plans of attention for cuDNN: products, functions and reductions that it makes in one kernel,
// without storing the scores.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/cuda/cudnn_graph.h"

namespace tessera::cuda {

// The problem that a plan solves. Batch and heads are those of all operands.
struct AttentionProblem {
  enum Tensors : int64_t { kQuery = 1, kKey, kValue, kOutput, kScale, kBias, kStatistics };

  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t features = 0, value_features = 0;
  AttentionOrder query_order, key_order, value_order, output_order;
  DType dtype = DType::kHalf;
  bool has_bias = false;
  DType bias_dtype = DType::kFloat;
  std::array<int64_t, 4> bias_dims = {0, 0, 0, 0};

  std::array<int64_t, 17> Key() const {
    return {batch,
            heads,
            queries,
            keys,
            features,
            value_features,
            query_order.heads_first,
            key_order.heads_first,
            value_order.heads_first,
            output_order.heads_first,
            static_cast<int64_t>(dtype),
            has_bias,
            static_cast<int64_t>(bias_dtype),
            bias_dims[0],
            bias_dims[1],
            bias_dims[2],
            bias_dims[3]};
  }
  friend bool operator==(const AttentionProblem& a, const AttentionProblem& b) {
    return a.Key() == b.Key();
  }
  template <typename H>
  friend H AbslHashValue(H h, const AttentionProblem& p) {
    return H::combine(std::move(h), p.Key());
  }
};

// output = softmax(scale * query * key^T + bias) * value. kStatistics, [batch, heads, queries] of
// float, gets the logarithm of each softmax's denominator: the kernels that are fastest write it.
// Errors: INTERNAL for what cuDNN cannot describe.
absl::StatusOr<CudnnGraph> DescribeAttention(const Cudnn& cudnn, const AttentionProblem& problem,
                                             cudnnDataType_t type, cudnnDataType_t bias_type);

}  // namespace tessera::cuda

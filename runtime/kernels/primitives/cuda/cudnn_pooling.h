// Plans of pools for cuDNN.
#pragma once

#include <algorithm>
#include <array>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/cuda/cudnn_graph.h"
#include "runtime/kernels/primitives/cuda/neural_library.h"
#include "runtime/kernels/primitives/pooling.h"

namespace tessera::cuda {

// A pool of tensors of one dtype: what plans are made for.
struct PoolProblem {
  enum Tensors : int64_t { kFrom = 1, kTo, kLeast };

  PoolMode mode;
  PoolShape shape;
  DType dtype;

  // All that a plan depends on.
  std::array<int64_t, 20> Key() const {
    std::array<int64_t, 20> key = {static_cast<int64_t>(mode), static_cast<int64_t>(dtype),
                                   shape.batch, shape.channels, shape.channels_first ? 1 : 0};
    int64_t* next = key.data() + 5;
    for (const auto& dims : {shape.input, shape.window, shape.stride, shape.output, shape.pad}) {
      next = std::copy(dims, dims + 3, next);
    }
    return key;
  }
  friend bool operator==(const PoolProblem& a, const PoolProblem& b) { return a.Key() == b.Key(); }
  template <typename H>
  friend H AbslHashValue(H h, const PoolProblem& p) {
    return H::combine(std::move(h), p.Key());
  }
};

// The pool; a max pool then takes the maximum of each result and the scalar kLeast, so that windows
// of NaNs give the lowest finite value. Errors: INTERNAL for what cuDNN cannot describe.
absl::StatusOr<CudnnGraph> DescribePool(const Cudnn& cudnn, const PoolProblem& problem,
                                        cudnnDataType_t type);

}  // namespace tessera::cuda

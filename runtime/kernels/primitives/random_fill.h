// Tensors full of random numbers.
#pragma once

#include "runtime/kernels/primitives/philox_source.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, deviation 1
  kTruncatedNormal,  // the same, of magnitude below 2
  kUniformInt,       // [low, low + range)
  kFullInt,          // all integers of the dtype
};

// For kUniformInt: as bits of which the dtype's are taken, so that they serve signed numbers too.
struct IntegerRange {
  uint64_t low = 0;
  uint64_t range = 0;  // not 0
};

struct RandomFill {
  // Fills `out`, whose dtype is half, bfloat16, float or double for the first three distributions
  // and int32, int64, uint32 or uint64 for the others. Number i is that of block i / n of
  // `generator`, of n numbers a block, under the functors of random_distributions.h, or of block
  // i / n * 64 n and those after it for kTruncatedNormal: it depends on the generator and its place
  // alone, not on the size of `out` or on threads.
  // Errors: INVALID_ARGUMENT for other dtypes.
  using Function = absl::Status(KernelContext& ctx, Distribution distribution,
                                const PhiloxSource& generator, const IntegerRange& integers,
                                Tensor* out);
};

}  // namespace tessera

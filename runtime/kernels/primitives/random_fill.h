// Tensors full of random numbers.
#pragma once

#include "runtime/kernels/primitives/philox_source.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, standard deviation 1
  kTruncatedNormal,  // like kNormal, with magnitudes below 2
  kUniformInt,       // [low, low + range)
  kFullInt,          // all integers of the dtype
};

// The range of kUniformInt. The lower bits are taken as a number of the dtype, so that signed
// numbers fit too.
struct IntegerRange {
  uint64_t low = 0;
  uint64_t range = 0;  // not 0
};

struct RandomFill {
  // Fills `out`, whose dtype is half, bfloat16, float or double for the first three distributions
  // and int32, int64, uint32 or uint64 for the others. A functor of random_distributions.h makes n
  // numbers of each block: number i comes from block i / n of `generator`, or, for
  // kTruncatedNormal, from block i / n * 64 n and those after it. A number depends only on the
  // generator and on its position, not on the size of `out` or on threads.
  // Errors: INVALID_ARGUMENT for other dtypes.
  using Function = absl::Status(KernelContext& ctx, Distribution distribution,
                                const PhiloxSource& generator, const IntegerRange& integers,
                                Tensor* out);
};

}  // namespace tessera

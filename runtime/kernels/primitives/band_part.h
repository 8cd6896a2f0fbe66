// Primitive: matrices of which a band is kept.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

struct BandPart {
  // A batch of matrices, and how many diagonals are kept below the main one and above it. The
  // numbers are not negative.
  struct Geometry {
    int64_t rows = 0, columns = 0;
    int64_t lower = 0, upper = 0;
  };
  // Sets `output` to the elements of `matrices` inside of the band, and to zero outside of it.
  // `output` may be `matrices` itself.
  using Function = absl::Status(KernelContext& ctx, const Geometry& geometry,
                                const Tensor& matrices, Tensor* output);
};

}  // namespace tessera

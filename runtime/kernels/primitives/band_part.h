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
  // Makes all elements zero that lie outside of the band.
  using Function = absl::Status(KernelContext& ctx, const Geometry& geometry, Tensor* matrices);
};

}  // namespace tessera

// The primitive that keeps a band of matrices.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

struct BandPart {
  // A batch of matrices, and the numbers of diagonals that are kept below and above the main one.
  // These numbers are not negative.
  struct Geometry {
    int64_t rows = 0, columns = 0;
    int64_t lower = 0, upper = 0;
  };
  // Sets `output` to the elements of `matrices` inside the band, and to zero outside it. `output`
  // may be `matrices` itself.
  using Function = absl::Status(KernelContext& ctx, const Geometry& geometry,
                                const Tensor& matrices, Tensor* output);
};

}  // namespace tessera

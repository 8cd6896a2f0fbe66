// Sorting indices of sparse tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// Returns the numbers of `count` indices of shape.size() coordinates each, in row-major order;
// equal ones keep their order. Fastest for indices that lie within the shape.
std::vector<int64_t> RowMajorOrder(const int64_t* indices, int64_t count,
                                   absl::Span<const int64_t> shape);

}  // namespace tessera

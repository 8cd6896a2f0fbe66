// Policies for indices that are out of range.
#pragma once

#include <cstdint>

namespace tessera {

enum class BadIndices : uint8_t {
  // The primitive returns INVALID_ARGUMENT, which names the first bad index, before it writes
  // anything: "indices[2,0] = 7 is not in [0, 5)". A device whose kernels return before the indices
  // are known reports them as an error of its stream, or treats this as kSkip, as TensorFlow's
  // kernels for GPUs do.
  kError,
  // A slice that would be read is zero, and a slice that would be written is left out.
  kSkip,
  // Indices are taken modulo the size, so that negative ones count from the end. Only primitives
  // that write support this.
  kWrap,
};

}  // namespace tessera

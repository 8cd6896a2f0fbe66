// Policies for indices that are out of range.
#pragma once

#include <cstdint>

namespace tessera {

enum class BadIndices : uint8_t {
  // INVALID_ARGUMENT that names the first of them, before anything is written:
  // "indices[2,0] = 7 is not in [0, 5)". A device whose kernels return before the indices are known
  // reports them as an error of its stream, or takes this for kSkip, as TensorFlow's kernels for
  // GPUs do.
  kError,
  // A slice that is read is zero, one that is written is left out.
  kSkip,
  // They are taken modulo the size; negative ones count from the end. For writing only.
  kWrap,
};

}  // namespace tessera

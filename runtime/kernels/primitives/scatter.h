// Writes slices of a tensor by index.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/bad_indices.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class ScatterOp : uint8_t { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

struct Scatter {
  // The target is `size` slices of `slice` elements.
  struct Geometry {
    int64_t size = 0;
    int64_t slice = 1;
  };

  // Computes target[indices[i]] = target[indices[i]] OP updates[i], slice by slice. An update that
  // is a scalar is used for all elements of all slices. Indices are int32 or int64 and are checked
  // even if the slices are empty; kWrap requires a target with slices. The target is written in
  // place and shares no memory with the updates.
  //
  // An index that occurs several times is used each time, in order. A device that works on several
  // slices at once may add in any order, and may keep any of several updates.
  //
  // kUpdate takes any dtype, kMin and kMax take real numbers, and the others take numbers. kAdd
  // also joins strings, and is "or" for bool. A narrow integer wraps around. Errors:
  // INVALID_ARGUMENT for an integer division by zero, where a device can report it; UNIMPLEMENTED
  // for another dtype.
  using Function = absl::Status(KernelContext& ctx, ScatterOp op, const Geometry& geometry,
                                const Tensor& indices, BadIndices bad_indices,
                                const Tensor& updates, Tensor* target);
};

}  // namespace tessera

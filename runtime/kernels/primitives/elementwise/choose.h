// The choice between two values.
#pragma once

#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::functors {

struct Choose {
  template <typename T>
  TESSERA_DEVICE_FUNCTION const T& operator()(bool condition, const T& x, const T& y) const {
    return condition ? x : y;
  }
};

}  // namespace tessera::functors

// The loop of SelectV2. Files that include this are compiled with LOOP_COPTS; see typed_loop.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/cpu/typed_loop.h"
#include "runtime/kernels/primitives/elementwise/choose.h"

namespace tessera {

// Chooses between numbers by value, by conditions that are bytes of 0 or 1, because loops over
// addresses or booleans do not vectorise.
struct ChooseNumber {
  template <typename T>
  T operator()(uint8_t condition, T x, T y) const {
    return functors::Choose()(condition != 0, x, y);
  }
};

template <typename T>
constexpr LoopFn ChooseLoop() {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return &TernaryLoop<ChooseNumber, T, uint8_t, T, T>;
  } else {
    return &TernaryLoop<functors::Choose, T, bool, T, T>;
  }
}

}  // namespace tessera

// Operations on the bits of integers.
#include <algorithm>
#include <type_traits>

#include "runtime/kernels/elementwise.h"

namespace tessera {
namespace {

// A distance out of range counts as the nearest one in range.
template <typename T>
int ShiftDistance(T y) {
  constexpr int kLast = static_cast<int>(sizeof(T)) * 8 - 1;
  if (y < 0) return 0;
  return y > kLast ? kLast : static_cast<int>(y);
}

struct LeftShift {
  template <typename T>
  T operator()(T x, T y) const {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << ShiftDistance(y));
  }
};
// Keeps the sign.
struct RightShift {
  template <typename T>
  T operator()(T x, T y) const {
    return x >> ShiftDistance(y);
  }
};

REGISTER_BINARY("BitwiseAnd", kInteger, [](auto x, auto y) { return x & y; });
REGISTER_BINARY("BitwiseOr", kInteger, [](auto x, auto y) { return x | y; });
REGISTER_BINARY("BitwiseXor", kInteger, [](auto x, auto y) { return x ^ y; });
REGISTER_BINARY("LeftShift", kInteger, LeftShift{});
REGISTER_BINARY("RightShift", kInteger, RightShift{});

}  // namespace
}  // namespace tessera

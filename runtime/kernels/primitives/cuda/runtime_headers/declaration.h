// Stands for runtime/kernels/primitives/elementwise/declaration.h in kernels that are compiled
// while the program runs: these call functors, and have no use for the declarations of ops.
#pragma once

#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera {

using DTypeSet = unsigned long long;
inline constexpr DTypeSet kFloating = 0, kComplex = 0, kSigned = 0, kReal = 0, kNumeric = 0,
                          kNarrowFloat = 0, kString = 0, kBool = 0, kQuantized = 0;
enum class DType { kFloat };
template <typename... D>
constexpr DTypeSet DTypes(D...) {
  return 0;
}

struct IgnoredDeclaration {
  template <typename Check>
  constexpr IgnoredDeclaration FailsIf() const {
    return {};
  }
  constexpr IgnoredDeclaration Cost(double) const { return {}; }
  constexpr IgnoredDeclaration SameShapes() const { return {}; }
  constexpr IgnoredDeclaration SameSizes() const { return {}; }
  constexpr IgnoredDeclaration IfIncompatible(bool) const { return {}; }
};
template <typename F, DTypeSet kTypes>
constexpr IgnoredDeclaration Unary(const char*) {
  return {};
}
template <typename F, DTypeSet kTypes>
constexpr IgnoredDeclaration Binary(const char*) {
  return {};
}
template <typename F, DTypeSet kTypes>
constexpr IgnoredDeclaration Ternary(const char*) {
  return {};
}
template <typename F, DTypeSet kTypes>
constexpr IgnoredDeclaration UnaryWithAttr(const char*, const char*) {
  return {};
}
template <typename F, DTypeSet kTypes>
constexpr IgnoredDeclaration BinaryWithAttr(const char*, const char*) {
  return {};
}

}  // namespace tessera

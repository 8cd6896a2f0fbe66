// Comparisons and logic.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera::functors {

struct Equal {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(const T& x, const T& y) const {
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(const T& x, const T& y) const {
    return x != y;
  }
};
struct Less {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqual {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct Greater {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqual {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x, T y) const {
    return x >= y;
  }
};
struct ApproximateEqual {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x, T y, T tolerance) const {
    // Numbers whose distance is the tolerance are equal too, unlike what the documentation of the
    // op says.
    return std::abs(x - y) <= tolerance;
  }
};
// Both sides are evaluated: loops over them have no branches.
struct LogicalAnd {
  TESSERA_DEVICE_FUNCTION bool operator()(bool x, bool y) const { return x & y; }
};
struct LogicalOr {
  TESSERA_DEVICE_FUNCTION bool operator()(bool x, bool y) const { return x | y; }
};

inline constexpr DTypeSet kComparable = kNumeric | kBool | kString | kQuantized;

inline constexpr std::tuple kComparisonOps{
    Binary<Equal, kComparable>("Equal").IfIncompatible(false),
    Binary<NotEqual, kComparable>("NotEqual").IfIncompatible(true),
    Binary<Less, kReal>("Less"),
    Binary<LessEqual, kReal>("LessEqual"),
    Binary<Greater, kReal>("Greater"),
    Binary<GreaterEqual, kReal>("GreaterEqual"),
    BinaryWithAttr<ApproximateEqual, kFloating>("ApproximateEqual", "tolerance").SameShapes(),
    Binary<LogicalAnd, kBool>("LogicalAnd"),
    Binary<LogicalOr, kBool>("LogicalOr"),
};

}  // namespace tessera::functors

// The functions of two scalars that reductions and scatters know, so that they need not call them.
#pragma once

#include <limits>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {

enum class Combiner : uint8_t { kUnknown, kSecond, kAdd, kMultiply, kMaximum, kMinimum };

// Returns what the function in the attribute `attr` of a node computes, as the attribute `_is_ATTR`
// of the node tells (runtime/optimize/mark_element_functions.h).
inline Combiner CombinerOf(const KernelBuild& build, absl::string_view attr) {
  const std::string mark = absl::StrCat("_is_", attr);
  if (!build.has_attr(mark)) return Combiner::kUnknown;
  const auto op = build.attr<std::string>(mark);
  if (op == "second") return Combiner::kSecond;
  if (op == "AddV2" || op == "Add") return Combiner::kAdd;
  if (op == "Mul") return Combiner::kMultiply;
  if (op == "Maximum") return Combiner::kMaximum;
  return op == "Minimum" ? Combiner::kMinimum : Combiner::kUnknown;
}

// The combiners of numbers, each with the value that changes no other. A NaN wins over any number.
struct AddTwo {
  template <typename T>
  static T Identity() {
    return T(0);
  }
  template <typename T>
  T operator()(T x, T y) const {
    // Integers wrap, which those with a sign may not do in C++.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
    } else {
      return x + y;
    }
  }
};
struct MultiplyTwo {
  template <typename T>
  static T Identity() {
    return T(1);
  }
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    } else {
      return x * y;
    }
  }
};
struct GreaterOfTwo {
  template <typename T>
  static T Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  }
  template <typename T>
  T operator()(T x, T y) const {
    const T chosen = x > y ? x : y;  // y if that is NaN
    return x != x ? x : chosen;
  }
};
struct LesserOfTwo {
  template <typename T>
  static T Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <typename T>
  T operator()(T x, T y) const {
    const T chosen = x < y ? x : y;  // y if that is NaN
    return x != x ? x : chosen;
  }
};

// Whether VisitCombiner() visits the combiner for elements of `dtype`.
inline bool CombinesNumbers(Combiner combiner, DType dtype) {
  return combiner != Combiner::kUnknown && combiner != Combiner::kSecond &&
         VisitRealType(dtype, []<typename T>() { return absl::OkStatus(); }).ok();
}

// Calls visit.template operator()<T>(function) -> absl::Status for real numbers of type T.
// Errors: UNIMPLEMENTED unless CombinesNumbers().
template <typename Visitor>
absl::Status VisitCombiner(Combiner combiner, DType dtype, Visitor&& visit) {
  return VisitRealType(dtype, [&]<typename T>() -> absl::Status {
    switch (combiner) {
      case Combiner::kAdd:
        return visit.template operator()<T>(AddTwo());
      case Combiner::kMultiply:
        return visit.template operator()<T>(MultiplyTwo());
      case Combiner::kMaximum:
        return visit.template operator()<T>(GreaterOfTwo());
      case Combiner::kMinimum:
        return visit.template operator()<T>(LesserOfTwo());
      default:
        return absl::UnimplementedError("the function combines no numbers");
    }
  });
}

}  // namespace tessera

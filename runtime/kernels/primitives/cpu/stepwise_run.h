// Reductions of a run of numbers of half or bfloat16 that round after each operation, in the order
// in which TensorFlow's CPU kernels compute them.
//
//   const Rounded<Eigen::half> sum = ReduceStepwise<Eigen::half, StepwiseSum>(x, 0, count);
//
// A fold defines the operation on the elements, for single numbers and for vectors:
//
//   struct StepwiseSum {
//     static constexpr float kNeutral = 0;
//     static constexpr bool kTakesTurns = true;  // several accumulators of columns
//     template <typename V> static V Term(V x) { return x; }
//     template <typename V> static V Add(V total, V term) { return total + term; }
//   };
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/cpu/rounded_float.h"
#include "runtime/kernels/primitives/cpu/rounded_vector.h"

namespace tessera {

// A fold of the elements themselves.
struct StepwiseFold {
  static constexpr bool kTakesTurns = true;
  template <typename V>
  static V Term(V x) {
    return x;
  }
};

struct StepwiseSum : StepwiseFold {
  static constexpr float kNeutral = 0;
  template <typename V>
  static V Add(V total, V term) {
    return total + term;
  }
};

// Adds rows one after the other.
struct StepwiseSumOfRows : StepwiseSum {
  static constexpr bool kTakesTurns = false;
};

struct StepwiseSumOfSquares : StepwiseSum {
  template <typename V>
  static V Term(V x) {
    return x * x;
  }
};

struct StepwiseHalfSumOfSquares : StepwiseSum {
  template <typename V>
  static V Term(V x) {
    return x * x * V(0.5f);
  }
};

struct StepwiseProduct : StepwiseFold {
  static constexpr float kNeutral = 1;
  template <typename V>
  static V Add(V total, V term) {
    return total * term;
  }
};

// Folds eight neighbours at a time. Four vectors take turns while there are elements for all of
// them. Their sum is then folded lane by lane in float. The elements after the last whole vector
// are folded one by one and added.
template <typename Storage, typename Fold, typename Element>
Rounded<Storage> FoldVectors(const Element* x, int64_t count) {
  using Vector = RoundedVector<Storage>;
  using Number = Rounded<Storage>;
  constexpr int kLanes = Vector::kLanes;
  const auto add = [](Vector& total, const Element* from) {
    total = Fold::Add(total, Fold::Term(Vector::Load(from)));
  };
  Vector a(Fold::kNeutral), b = a, c = a, d = a;
  int64_t i = 0;
  if (count >= 4 * kLanes) {
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      add(a, x + i);
      add(b, x + i + kLanes);
      add(c, x + i + 2 * kLanes);
      add(d, x + i + 3 * kLanes);
    }
    a = Fold::Add(Fold::Add(Fold::Add(a, b), c), d);
  }
  for (; i + kLanes <= count; i += kLanes) add(a, x + i);
  Number rest(Fold::kNeutral);
  for (; i < count; ++i) {
    rest = Fold::Add(rest, Fold::Term(Number::FromStored(static_cast<float>(x[i]))));
  }
  float lanes[kLanes];
  a.Store(lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = Fold::Add(lanes[lane], lanes[lane + half]);
    }
  }
  return Fold::Add(rest, Number(lanes[0]));
}

// The largest number of elements that FoldVectors() folds at once. Longer runs are cut in halves.
template <typename Storage>
inline constexpr int64_t kStepwiseLeaf = Rounded<Storage>::kIsHalf ? 1600 : 1024;

// Folds `count` elements from index `first` of a tensor on. They are cut into parts of at most
// kStepwiseLeaf elements, and leaf(first, count) is called for each part in order. The halves meet
// where a vector of the tensor begins.
template <typename Storage, typename Fold, typename Leaf>
Rounded<Storage> FoldHalves(int64_t first, int64_t count, Leaf& leaf) {
  if (count <= kStepwiseLeaf<Storage>) return leaf(first, count);
  constexpr int64_t kLanes = RoundedVector<Storage>::kLanes;
  const int64_t middle = first + (count + 1) / 2;
  const int64_t split = (middle + kLanes - 1) / kLanes * kLanes;
  const Rounded<Storage> low = FoldHalves<Storage, Fold>(first, split - first, leaf);
  return Fold::Add(low, FoldHalves<Storage, Fold>(split, first + count - split, leaf));
}

// Folds `count` elements, the first of which has index `first` in its tensor. `Element` is Storage,
// or float for numbers that Storage holds exactly.
template <typename Storage, typename Fold, typename Element>
Rounded<Storage> ReduceStepwise(const Element* x, int64_t first, int64_t count) {
  auto leaf = [&](int64_t begin, int64_t some) {
    return FoldVectors<Storage, Fold>(x + (begin - first), some);
  };
  return FoldHalves<Storage, Fold>(first, count, leaf);
}

}  // namespace tessera

// The loop that all optimizers share.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/kernels/primitives/cpu/float_vector.h"
#include "runtime/kernels/primitives/cpu/optimizer_loops.h"
#include "runtime/kernels/primitives/optimizer_rules.h"

namespace tessera::optimizers {
inline namespace TESSERA_VECTOR_ABI {

#ifdef __AVX512F__
// True for a rule of float that computes with vectors as well, since it compares no numbers.
template <typename Rule, typename... Slots>
constexpr bool kTakesVectors =
    (std::is_same_v<Slots, float> && ...) &&
    std::is_invocable_v<const Rule&, FloatVector, std::conditional_t<true, FloatVector&, Slots>...>;

// Applies `rule` to one vector of elements.
template <typename Rule, typename... Slots>
void UpdateVector(const Rule& rule, const float* gradient, Slots* const... state) {
  [&](auto... value) {
    rule(FloatVector::Load(gradient), value...);
    (value.Store(state), ...);
  }(FloatVector::Load(state)...);
}

// Applies `rule` to less than a vector of elements, as to a vector, so that the result of an
// element does not depend on its position.
template <typename Rule, typename... Slots>
void UpdateRest(const Rule& rule, int64_t count, const float* gradient, Slots* const... state) {
  constexpr int64_t kLanes = FloatVector::kLanes;
  float gradients[kLanes] = {}, states[sizeof...(Slots)][kLanes] = {};
  std::copy_n(gradient, count, gradients);
  [&]<size_t... slot>(std::index_sequence<slot...>) {
    (std::copy_n(state, count, states[slot]), ...);
    UpdateVector(rule, gradients, states[slot]...);
    (std::copy_n(states[slot], count, state), ...);
  }
  (std::index_sequence_for<Slots...>());
}

// Does what UpdateElements() does.
template <typename Rule, typename... Slots>
__attribute__((always_inline)) inline void UpdateVectors(const Rule& rule, int64_t count,
                                                         const float* gradient,
                                                         Slots* const... state) {
  constexpr int64_t kLanes = FloatVector::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) UpdateVector(rule, gradient + i, (state + i)...);
  if (i < count) UpdateRest(rule, count - i, gradient + i, (state + i)...);
}
#else
template <typename Rule, typename... Slots>
constexpr bool kTakesVectors = false;
#endif

// Applies `rule` to `count` elements. The arrays do not overlap. It is inlined, because the rows of
// sparse updates are short.
template <typename Rule, typename T, typename... Slots>
__attribute__((always_inline)) inline void UpdateElements(const Rule& rule, int64_t count,
                                                          const T* gradient,
                                                          Slots* const... state) {
  if constexpr (kTakesVectors<Rule, Slots...>) {
    UpdateVectors(rule, count, gradient, state...);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    [&](auto... value) __attribute__((always_inline)) {
      rule(gradient[i], value...);
      ((state[i] = value), ...);
    }
    (state[i]...);
  }
}

// The number of slots that a rule takes beside the gradient and the variable.
template <typename Rule, typename T>
constexpr int NumSlots() {
  if constexpr (std::is_invocable_v<Rule, T, T&>) return 0;
  if constexpr (std::is_invocable_v<Rule, T, T&, T&>) return 1;
  if constexpr (std::is_invocable_v<Rule, T, T&, T&, T&>) return 2;
  return 3;
}

template <typename Rule, typename T>
void UpdateRows(const OptimizerStep& step, const OptimizerRows& rows) {
  T scalars[kMaxOptimizerScalars];
  for (int i = 0; i < kMaxOptimizerScalars; ++i) {
    if constexpr (std::is_constructible_v<T, std::complex<double>>) {
      scalars[i] = T(step.scalars[i]);
    } else {
      scalars[i] = static_cast<T>(step.scalars[i].real());
    }
  }
  const Rule rule(scalars);
  const T* const gradient = static_cast<const T*>(rows.gradient);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t to = (rows.index == nullptr ? row : rows.index[row]) * rows.row_size;
    [&]<size_t... slot>(std::index_sequence<slot...>) {
      UpdateElements(rule, rows.row_size, gradient + row * rows.row_size,
                     (static_cast<T*>(rows.state[slot]) + to)...);
    }
    (std::make_index_sequence<1 + NumSlots<Rule, T>()>());
  }
}

// Returns the loop of a rule that has two variants.
template <typename T, template <typename, bool> typename Rule>
OptimizerLoop LoopOfVariant(bool variant) {
  return variant ? UpdateRows<Rule<T, true>, T> : UpdateRows<Rule<T, false>, T>;
}

// The loop of FTRL with any power of the learning rate. The usual one, -1/2, is computed as a root.
template <typename T, bool kScaleByLr>
void FtrlRows(const OptimizerStep& step, const OptimizerRows& rows) {
  if (step.scalars[3].real() == -0.5) {
    UpdateRows<Ftrl<T, kScaleByLr, true>, T>(step, rows);
  } else {
    UpdateRows<Ftrl<T, kScaleByLr, false>, T>(step, rows);
  }
}

// Returns the loop of a rule that is defined for complex numbers too, or null for another rule.
template <typename T>
OptimizerLoop LoopOfUnordered(OptimizerRule rule, bool variant) {
  switch (rule) {
    case OptimizerRule::kGradientDescent:
      return UpdateRows<GradientDescent<T>, T>;
    case OptimizerRule::kMomentum:
      return LoopOfVariant<T, Momentum>(variant);
    case OptimizerRule::kKerasMomentum:
      return LoopOfVariant<T, KerasMomentum>(variant);
    case OptimizerRule::kAdagrad:
      return LoopOfVariant<T, Adagrad>(variant);
    case OptimizerRule::kAdadelta:
      return UpdateRows<Adadelta<T>, T>;
    case OptimizerRule::kAdam:
      return LoopOfVariant<T, Adam>(variant);
    case OptimizerRule::kRmsProp:
      return UpdateRows<RmsProp<T>, T>;
    case OptimizerRule::kCenteredRmsProp:
      return UpdateRows<CenteredRmsProp<T>, T>;
    default:
      return nullptr;
  }
}

// Returns the loop of any rule.
template <typename T>
OptimizerLoop LoopOf(OptimizerRule rule, bool variant) {
  switch (rule) {
    case OptimizerRule::kAdagradDa:
      return UpdateRows<AdagradDa<T>, T>;
    case OptimizerRule::kAdamWithAmsgrad:
      return UpdateRows<AdamWithAmsgrad<T>, T>;
    case OptimizerRule::kAdaMax:
      return UpdateRows<AdaMax<T>, T>;
    case OptimizerRule::kFtrl:
      return variant ? FtrlRows<T, true> : FtrlRows<T, false>;
    case OptimizerRule::kProximalAdagrad:
      return UpdateRows<ProximalAdagrad<T>, T>;
    case OptimizerRule::kProximalGradientDescent:
      return UpdateRows<ProximalGradientDescent<T>, T>;
    case OptimizerRule::kAddSign:
      return UpdateRows<AddSign<T>, T>;
    case OptimizerRule::kPowerSign:
      return UpdateRows<PowerSign<T>, T>;
    default:
      return LoopOfUnordered<T>(rule, variant);
  }
}

}  // namespace TESSERA_VECTOR_ABI
}  // namespace tessera::optimizers

// The CPU's loops of declared elementwise ops. A file registers those of a list:
//
//   REGISTER_CPU_ELEMENTWISE(kArithmeticOps);
//
// It is compiled with LOOP_COPTS (runtime/kernels/kernel_library.bzl).
#pragma once

#include <array>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/cpu/typed_loop.h"
#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera {

using LoopTable = OperandTable<LoopFn>;

// True if an element of the block's operand fails a check.
using CheckFn = bool (*)(const LoopBlock& block, int operand);
using CheckTable = OperandTable<CheckFn>;

// One op on the CPU. Of static storage.
struct CpuElementwiseOp {
  const ElementwiseOp* op;
  const LoopTable* loops;
  const CheckTable* checks = nullptr;  // null: never fails
  absl::StatusCode check_code = absl::StatusCode::kOk;
  const char* check_message = nullptr;
};

// The loop of a declared op for operands of `dtype`, for primitives that are made of such; null if
// there is none. It takes float operands for narrow floats: see RunAsFloat(). Not for static
// initialisers.
LoopFn FindElementwiseLoop(absl::string_view op, DType dtype);

// See REGISTER_CPU_ELEMENTWISE.
struct CpuElementwiseRegistration {
  explicit CpuElementwiseRegistration(absl::Span<const CpuElementwiseOp> ops);
};

namespace elementwise_internal {

template <typename F, int kArgs, typename T>
constexpr LoopFn LoopOf() {
  using R = std::remove_cvref_t<ElementwiseResult<F, kArgs, T>>;
  if constexpr (kArgs == 1) return &UnaryLoop<F, R, T>;
  if constexpr (kArgs == 2) return &BinaryLoop<F, R, T, T>;
  if constexpr (kArgs == 3) return &TernaryLoop<F, R, T, T, T>;
}

template <typename F, int kArgs, DTypeSet kDTypes>
constexpr LoopTable MakeLoops() {
  LoopTable table{};
  ForEachType<Instantiated(kDTypes)>([&table]<typename T>(TypeTag<T>) {
    table[OperandIndex(DTypeOf<T>)] = LoopOf<F, kArgs, T>();
  });
  return table;
}
template <typename F, int kArgs, DTypeSet kDTypes>
inline constexpr LoopTable kLoops = MakeLoops<F, kArgs, kDTypes>();

template <typename Check, DTypeSet kDTypes>
constexpr CheckTable MakeChecks() {
  CheckTable table{};
  ForEachType<kDTypes & kInteger>(
      [&table]<typename T>(TypeTag<T>) { table[OperandIndex(DTypeOf<T>)] = &AnyFails<Check, T>; });
  return table;
}
template <typename Check, DTypeSet kDTypes>
inline constexpr CheckTable kChecks = MakeChecks<Check, kDTypes>();

template <typename F, int kArgs, DTypeSet kDTypes, typename Check>
constexpr CpuElementwiseOp OnCpu(const ElementwiseDeclaration<F, kArgs, kDTypes, Check>& op) {
  constexpr const LoopTable* kTable = &kLoops<F, kArgs, kDTypes>;
  if constexpr (std::is_same_v<Check, NeverFails>) {
    return {&op, kTable};
  } else {
    return {&op, kTable, &kChecks<Check, kDTypes>, Check::kCode, Check::kMessage};
  }
}

// `kOps` is a tuple of declarations.
template <const auto& kOps>
inline constexpr auto kCpuOps =
    std::apply([](const auto&... op) { return std::array{OnCpu(op)...}; }, kOps);

}  // namespace elementwise_internal
}  // namespace tessera

#define REGISTER_CPU_ELEMENTWISE(ops) TESSERA_REGISTER_CPU_ELEMENTWISE(__COUNTER__, ops)
#define TESSERA_REGISTER_CPU_ELEMENTWISE(counter, ops) \
  TESSERA_REGISTER_CPU_ELEMENTWISE_INNER(counter, ops)
#define TESSERA_REGISTER_CPU_ELEMENTWISE_INNER(counter, ops)                                      \
  static const ::tessera::CpuElementwiseRegistration cpu_elementwise_##counter [[maybe_unused]] { \
    ::tessera::elementwise_internal::kCpuOps<ops>                                                 \
  }

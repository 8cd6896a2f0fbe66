// The CPU's loops of declared elementwise ops. A file registers those of a list:
//
//   REGISTER_CPU_ELEMENTWISE(kArithmeticOps);
//   REGISTER_COSTLY_CPU_ELEMENTWISE(kTranscendentalOps);
//
// Loops over costly functions of float and double are compiled twice, once of these for AVX-512.
// Loops over other functions wait for memory, and would not gain by wider vectors.
//
// Such a file is compiled with LOOP_COPTS (runtime/kernels/kernel_library.bzl).
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

// One op on the CPU. Objects of this type have static storage duration.
struct CpuElementwiseOp {
  const ElementwiseOp* op;
  const LoopTable* loops = nullptr;
  const LoopTable* wide_loops = nullptr;  // for AVX-512; null: `loops` serves
  const CheckTable* checks = nullptr;     // null: the op never fails
  absl::StatusCode check_code = absl::StatusCode::kOk;
  const char* check_message = nullptr;
};

// Returns the loop of a declared op for operands of `dtype`, for primitives that combine such
// loops; null if there is none. For a narrow float the loop takes operands of float: see
// RunAsFloat(). Static initialisers must not call this.
LoopFn FindElementwiseLoop(absl::string_view op, DType dtype);

// See REGISTER_CPU_ELEMENTWISE.
struct CpuElementwiseRegistration {
  explicit CpuElementwiseRegistration(absl::Span<const CpuElementwiseOp> ops);
};

namespace elementwise_internal {

// A loop that is written by hand, and not generated from the functor F for elements of T; null:
// there is none. The file that registers F specialises this variable first.
template <typename F, typename T>
inline constexpr LoopFn kHandWrittenLoop = nullptr;

// How the loops of a list of ops are compiled.
enum class LoopForm { kPlain, kVector, kWideVector };

template <typename F, int kArgs, typename T, LoopForm kForm>
constexpr LoopFn LoopOf() {
  using R = std::remove_cvref_t<ElementwiseResult<F, kArgs, T>>;
  if constexpr (kHandWrittenLoop<F, T> != nullptr) return kHandWrittenLoop<F, T>;
  if constexpr (kForm != LoopForm::kPlain && kArgs <= 2 && std::is_floating_point_v<T> &&
                std::is_same_v<R, T>) {
    return kForm == LoopForm::kVector ? &VectorLoop<F, kArgs, T> : &WideVectorLoop<F, kArgs, T>;
  }
  if constexpr (kArgs == 1) return &UnaryLoop<F, R, T>;
  if constexpr (kArgs == 2) return &BinaryLoop<F, R, T, T>;
  if constexpr (kArgs == 3) return &TernaryLoop<F, R, T, T, T>;
}

template <typename F, int kArgs, DTypeSet kDTypes, LoopForm kForm>
constexpr LoopTable MakeLoops() {
  LoopTable table{};
  ForEachType<Instantiated(kDTypes)>([&table]<typename T>(TypeTag<T>) {
    table[OperandIndex(DTypeOf<T>)] = LoopOf<F, kArgs, T, kForm>();
  });
  return table;
}
template <typename F, int kArgs, DTypeSet kDTypes, LoopForm kForm>
inline constexpr LoopTable kLoops = MakeLoops<F, kArgs, kDTypes, kForm>();

template <typename Check, DTypeSet kDTypes>
constexpr CheckTable MakeChecks() {
  CheckTable table{};
  ForEachType<kDTypes & kInteger>(
      [&table]<typename T>(TypeTag<T>) { table[OperandIndex(DTypeOf<T>)] = &AnyFails<Check, T>; });
  return table;
}
template <typename Check, DTypeSet kDTypes>
inline constexpr CheckTable kChecks = MakeChecks<Check, kDTypes>();

template <bool kCostly, typename F, int kArgs, DTypeSet kDTypes, typename Check>
constexpr CpuElementwiseOp OnCpu(const ElementwiseDeclaration<F, kArgs, kDTypes, Check>& op) {
  CpuElementwiseOp on_cpu = {&op};
  if constexpr (kCostly) {
    on_cpu.loops = &kLoops<F, kArgs, kDTypes, LoopForm::kVector>;
    on_cpu.wide_loops = &kLoops<F, kArgs, kDTypes, LoopForm::kWideVector>;
  } else {
    on_cpu.loops = &kLoops<F, kArgs, kDTypes, LoopForm::kPlain>;
  }
  if constexpr (!std::is_same_v<Check, NeverFails>) {
    on_cpu.checks = &kChecks<Check, kDTypes>;
    on_cpu.check_code = Check::kCode;
    on_cpu.check_message = Check::kMessage;
  }
  return on_cpu;
}

// `kOps` is a tuple of declarations.
template <const auto& kOps, bool kCostly>
inline constexpr auto kCpuOps =
    std::apply([](const auto&... op) { return std::array{OnCpu<kCostly>(op)...}; }, kOps);

}  // namespace elementwise_internal
}  // namespace tessera

#define REGISTER_CPU_ELEMENTWISE(ops) TESSERA_REGISTER_CPU_ELEMENTWISE(__COUNTER__, ops, false)
#define REGISTER_COSTLY_CPU_ELEMENTWISE(ops) \
  TESSERA_REGISTER_CPU_ELEMENTWISE(__COUNTER__, ops, true)
#define TESSERA_REGISTER_CPU_ELEMENTWISE(counter, ops, is_costly) \
  TESSERA_REGISTER_CPU_ELEMENTWISE_INNER(counter, ops, is_costly)
#define TESSERA_REGISTER_CPU_ELEMENTWISE_INNER(counter, ops, is_costly)                           \
  static const ::tessera::CpuElementwiseRegistration cpu_elementwise_##counter [[maybe_unused]] { \
    ::tessera::elementwise_internal::kCpuOps<ops, is_costly>                                      \
  }

// Elementwise ops, one line each: the scalar function is all that is particular to an op. Shapes,
// broadcasting, dtypes, threads and reuse of buffers are the engine's.
//
//   REGISTER_UNARY("Neg", kSigned | kFloating | kComplex, [](auto x) { return -x; });
//   REGISTER_BINARY("AddV2", kNumeric, [](auto x, auto y) { return x + y; });
//   REGISTER_BINARY("FloorDiv", kReal, FloorDiv{}, ErrorIf(DivisorIsZero));
//   REGISTER_UNARY_WITH_ATTR("LeakyRelu", "alpha", kFloating, LeakyRelu{});
//
// The function is a lambda without captures or an object without state. It sees elements as C++
// numbers, half and bfloat16 as float. It returns what is stored: bool for a comparison, a real
// number for a part of a complex one; integers that C++ promoted go back to the operands' type.
// Such a file is a kernel_library with copts = LOOP_COPTS.
#pragma once

#include <array>
#include <complex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/kernels/primitives/cpu/typed_loop.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {

class Tensor;

using LoopFn = void (*)(const LoopBlock&);
// By dtype of the first operand; null where the op has no kernel.
using LoopTable = std::array<LoopFn, kNumDTypes>;

// What the engine needs to know of an op.
struct ElementwiseOp {
  std::string name;
  int arity = 1;  // inputs
  DTypeSet dtypes = 0;
  LoopTable loops{};
  // What they write, by dtype of the first operand.
  std::array<DType, kNumDTypes> results{};
  // A float attribute, handed to the function as a last argument of the operands' type.
  std::string attr;
  // Looks at the last operand before a result is computed.
  absl::Status (*check)(const Tensor& operand) = nullptr;
  // Nanoseconds an element, for splitting loops over threads.
  double cost = 0.3;
  // Operands must have equal shapes; of three, some may be scalars.
  bool same_shapes = false;
  // The scalar result for shapes that do not broadcast, if the node's attribute
  // `incompatible_shape_error` is false.
  std::optional<bool> if_incompatible;
};

// Options of a registration, after the function.
inline auto ErrorIf(absl::Status (*check)(const Tensor&)) {
  return [check](ElementwiseOp& op) { op.check = check; };
}
inline auto WithAttr(const char* name) {
  return [name](ElementwiseOp& op) { op.attr = name; };
}
inline auto Cost(double nanoseconds) {
  return [nanoseconds](ElementwiseOp& op) { op.cost = nanoseconds; };
}
inline auto SameShapes() {
  return [](ElementwiseOp& op) { op.same_shapes = true; };
}
inline auto IfIncompatible(bool result) {
  return [result](ElementwiseOp& op) { op.if_incompatible = result; };
}

// Checks for ErrorIf(), of integer operands. Errors: INVALID_ARGUMENT.
absl::Status DivisorIsZero(const Tensor& divisor);
absl::Status ExponentIsNegative(const Tensor& exponent);

// The loop of a registered op for operands of `dtype`, for kernels that are made of such; null if
// there is none. It takes float operands for narrow floats. Call it from kernels' constructors, not
// from static initialisers.
LoopFn FindElementwiseLoop(absl::string_view op, DType dtype);

// Registers the kernel at static initialisation.
struct ElementwiseRegistration {
  ElementwiseRegistration(ElementwiseOp op);  // NOLINT: converts on purpose
};

namespace elementwise_internal {

inline void ShareLoops(DTypeSet types, ElementwiseOp* op) {
  auto share = [&](DType to, DType from) {
    if (!Contains(types, to)) return;
    const int t = static_cast<int>(to), f = static_cast<int>(from);
    op->loops[t] = op->loops[f];
    op->results[t] = op->results[f] == from ? to : op->results[f];
  };
  share(DType::kHalf, DType::kFloat);
  share(DType::kBfloat16, DType::kFloat);
  share(DType::kQint8, DType::kInt8);
  share(DType::kQuint8, DType::kUint8);
  share(DType::kQint16, DType::kInt16);
  share(DType::kQuint16, DType::kUint16);
  share(DType::kQint32, DType::kInt32);
}

// What F takes: `kArgs` values of T.
template <int kArgs, typename F, typename T>
constexpr void SetLoop(ElementwiseOp* op) {
  const int dtype = static_cast<int>(DTypeOf<T>);
  auto set = [&]<typename R>(TypeTag<R>, LoopFn loop) {
    op->loops[dtype] = loop;
    op->results[dtype] = DTypeOf<R>;
  };
  if constexpr (kArgs == 1) {
    using R = StoredResult<F, T, std::invoke_result_t<F, T>>;
    set(TypeTag<R>(), &UnaryLoop<F, R, T>);
  } else if constexpr (kArgs == 2) {
    using R = StoredResult<F, T, std::invoke_result_t<F, T, T>>;
    set(TypeTag<R>(), &BinaryLoop<F, R, T, T>);
  } else {
    using R = StoredResult<F, T, std::invoke_result_t<F, T, T, T>>;
    set(TypeTag<R>(), &TernaryLoop<F, R, T, T, T>);
  }
}

template <int kArity, DTypeSet kTypes, int kArgs, typename F, typename... Options>
ElementwiseOp MakeOp(const char* name, F, Options... options) {
  ElementwiseOp op;
  op.name = name;
  op.arity = kArity;
  op.dtypes = kTypes;
  ForEachType<Instantiated(kTypes)>([&]<typename T>(TypeTag<T>) { SetLoop<kArgs, F, T>(&op); });
  ShareLoops(kTypes, &op);
  (options(op), ...);
  return op;
}

}  // namespace elementwise_internal
}  // namespace tessera

#define REGISTER_UNARY(name, dtypes, ...) \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, 1, 1, name, (dtypes), __VA_ARGS__)
#define REGISTER_BINARY(name, dtypes, ...) \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, 2, 2, name, (dtypes), __VA_ARGS__)
#define REGISTER_TERNARY(name, dtypes, ...) \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, 3, 3, name, (dtypes), __VA_ARGS__)
// Functions that take a float attribute of the node as one more argument; see WithAttr().
#define REGISTER_UNARY_WITH_ATTR(name, attr, dtypes, ...)                      \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, 1, 2, name, (dtypes), __VA_ARGS__, \
                               ::tessera::WithAttr(attr))
#define REGISTER_BINARY_WITH_ATTR(name, attr, dtypes, ...)                     \
  TESSERA_REGISTER_ELEMENTWISE(__COUNTER__, 2, 3, name, (dtypes), __VA_ARGS__, \
                               ::tessera::WithAttr(attr))
#define TESSERA_REGISTER_ELEMENTWISE(counter, ...) \
  TESSERA_REGISTER_ELEMENTWISE_INNER(counter, __VA_ARGS__)
#define TESSERA_REGISTER_ELEMENTWISE_INNER(counter, arity, args, name, dtypes, ...)  \
  static const ::tessera::ElementwiseRegistration elementwise_registration_##counter \
      [[maybe_unused]] =                                                             \
          ::tessera::elementwise_internal::MakeOp<arity, dtypes, args>(name, __VA_ARGS__)

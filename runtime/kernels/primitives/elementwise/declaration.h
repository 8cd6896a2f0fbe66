// Declarations of elementwise ops. A declaration says everything about an op but how to loop over
// elements, so that each type of device makes its loops from the same one:
//
//   // The scalar function. It returns what is stored.
//   struct Add {
//     template <typename T>
//     TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const { return x + y; }
//   };
//   inline constexpr std::tuple kArithmeticOps{
//       Binary<Add, kNumeric>("AddV2"),
//       Binary<FloorDiv, kReal>("FloorDiv").FailsIf<DivisorIsZero>().Cost(1),
//       UnaryWithAttr<LeakyRelu, kFloating>("LeakyRelu", "alpha"),
//   };
//
// A functor has no state. Loops call it with elements as C++ numbers: half and bfloat16 as float,
// quantised numbers as the integers that store them, complex numbers as Complex<T>. It is compiled
// for the host and, by nvcc, for GPUs: see runtime/kernels/primitives/math/device_std.h.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>

#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera {

#ifdef __CUDACC__
template <>
struct DTypeOfT<Complex<float>> {
  static constexpr DType value = DType::kComplex64;
};
template <>
struct DTypeOfT<Complex<double>> {
  static constexpr DType value = DType::kComplex128;
};
#endif

// The type that functors get for elements stored as T.
template <typename T>
struct OperandTypeOf {
  using type = T;
};
template <typename T>
struct OperandTypeOf<std::complex<T>> {
  using type = Complex<T>;
};
template <typename T>
using OperandType = typename OperandTypeOf<T>::type;

// Tables by the type that functors get: float for narrow floats, the integers that store quantised
// numbers. The last place, that of dtypes which no functor gets, stays empty.
inline constexpr int kNumOperandTypes = 15;
// The place in such a table.
constexpr int OperandIndex(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kHalf:
    case DType::kBfloat16:
      return 0;
    case DType::kDouble:
      return 1;
    case DType::kInt8:
    case DType::kQint8:
      return 2;
    case DType::kInt16:
    case DType::kQint16:
      return 3;
    case DType::kInt32:
    case DType::kQint32:
      return 4;
    case DType::kInt64:
      return 5;
    case DType::kUint8:
    case DType::kQuint8:
      return 6;
    case DType::kUint16:
    case DType::kQuint16:
      return 7;
    case DType::kUint32:
      return 8;
    case DType::kUint64:
      return 9;
    case DType::kComplex64:
      return 10;
    case DType::kComplex128:
      return 11;
    case DType::kBool:
      return 12;
    case DType::kString:
      return 13;
    default:
      return kNumOperandTypes - 1;
  }
}
template <typename Entry>
using OperandTable = std::array<Entry, kNumOperandTypes>;

// The type that a functor of kArgs operands of type T stores.
template <typename F, int kArgs, typename T>
struct ElementwiseResultOf;
template <typename F, typename T>
struct ElementwiseResultOf<F, 1, T> : std::invoke_result<F, T> {};
template <typename F, typename T>
struct ElementwiseResultOf<F, 2, T> : std::invoke_result<F, T, T> {};
template <typename F, typename T>
struct ElementwiseResultOf<F, 3, T> : std::invoke_result<F, T, T, T> {};
template <typename F, int kArgs, typename T>
using ElementwiseResult = typename ElementwiseResultOf<F, kArgs, T>::type;

// The properties of an op that kernels need to know.
struct ElementwiseOp {
  const char* name;
  int arity;                    // inputs of the node
  DTypeSet dtypes;              // of the operands, which are all of one dtype
  OperandTable<DType> results;  // of the functor
  // A float attribute, which the functor gets as a last operand. Null: none.
  const char* attr = nullptr;
  // Nanoseconds an element on a CPU, for splitting loops over threads.
  double cost = 0.3;
  // Operands must have equal shapes; of three, some may be scalars.
  bool same_shapes = false;
  // Both operands must have as many elements; the result has the shape of the first.
  bool same_sizes = false;
  // The scalar result for shapes that do not broadcast, if the node's attribute
  // `incompatible_shape_error` is false.
  std::optional<bool> if_incompatible;

  // The dtype of the output for operands of `dtype`, which is one of `dtypes`.
  constexpr DType ResultOf(DType dtype) const {
    const DType result = results[OperandIndex(dtype)];
    return Contains(kNarrowFloat, dtype) && result == DType::kFloat ? dtype : result;
  }
};

// The default of ElementwiseDeclaration's kCheck.
struct NeverFails {};

// An op and its functor F of kArgs operands, the attribute among them. A Check other than
// NeverFails is a predicate of an element of the last operand: if it is true for one that would be
// used, the op fails with Check::kCode and Check::kMessage. The device's loops ask it.
template <typename F, int kArgs, DTypeSet kDTypes, typename Check = NeverFails>
struct ElementwiseDeclaration : ElementwiseOp {
  using Functor = F;
  using CheckOfLast = Check;
  static constexpr int kNumArgs = kArgs;
  static constexpr DTypeSet kOperandTypes = kDTypes;

  template <typename NewCheck>
  constexpr ElementwiseDeclaration<F, kArgs, kDTypes, NewCheck> FailsIf() const {
    return {static_cast<const ElementwiseOp&>(*this)};
  }
  constexpr ElementwiseDeclaration Cost(double nanoseconds) const {
    ElementwiseDeclaration changed = *this;
    changed.cost = nanoseconds;
    return changed;
  }
  constexpr ElementwiseDeclaration SameShapes() const {
    ElementwiseDeclaration changed = *this;
    changed.same_shapes = true;
    return changed;
  }
  constexpr ElementwiseDeclaration SameSizes() const {
    ElementwiseDeclaration changed = *this;
    changed.same_sizes = true;
    return changed;
  }
  constexpr ElementwiseDeclaration IfIncompatible(bool result) const {
    ElementwiseDeclaration changed = *this;
    changed.if_incompatible = result;
    return changed;
  }
};

namespace elementwise_internal {

template <typename F, int kArgs, DTypeSet kDTypes>
constexpr OperandTable<DType> Results() {
  OperandTable<DType> results{};
  ForEachType<Instantiated(kDTypes)>([&results]<typename T>(TypeTag<T>) {
    using Result = ElementwiseResult<F, kArgs, OperandType<T>>;
    results[OperandIndex(DTypeOf<T>)] = DTypeOf<std::remove_cvref_t<Result>>;
  });
  return results;
}

template <typename F, int kArity, int kArgs, DTypeSet kDTypes>
constexpr ElementwiseDeclaration<F, kArgs, kDTypes> Declare(const char* name, const char* attr) {
  return {{name, kArity, kDTypes, Results<F, kArgs, kDTypes>(), attr}};
}

}  // namespace elementwise_internal

template <typename F, DTypeSet kDTypes>
constexpr auto Unary(const char* name) {
  return elementwise_internal::Declare<F, 1, 1, kDTypes>(name, nullptr);
}
template <typename F, DTypeSet kDTypes>
constexpr auto Binary(const char* name) {
  return elementwise_internal::Declare<F, 2, 2, kDTypes>(name, nullptr);
}
template <typename F, DTypeSet kDTypes>
constexpr auto Ternary(const char* name) {
  return elementwise_internal::Declare<F, 3, 3, kDTypes>(name, nullptr);
}
template <typename F, DTypeSet kDTypes>
constexpr auto UnaryWithAttr(const char* name, const char* attr) {
  return elementwise_internal::Declare<F, 1, 2, kDTypes>(name, attr);
}
template <typename F, DTypeSet kDTypes>
constexpr auto BinaryWithAttr(const char* name, const char* attr) {
  return elementwise_internal::Declare<F, 2, 3, kDTypes>(name, attr);
}

}  // namespace tessera

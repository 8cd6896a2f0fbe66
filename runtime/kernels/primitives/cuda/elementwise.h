// The GPU's kernels of declared elementwise ops. A file registers those of a list:
//
//   REGISTER_CUDA_ELEMENTWISE(functors::kArithmeticOps);
//
// There is one kernel for each op and type that its functor gets.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera::cuda {

// The tensors of a kernel: the result, and then the operands.
struct ElementwiseWork {
  StridedBox<kMaxOperands> box;
  DType dtype;   // of the operands
  double attr;   // the last argument of functors that have an attribute
  bool vectors;  // each operand is a gapless, aligned array or one element; the result is an array
};

using ElementwiseKernel = void (*)(ElementwiseWork);
using ElementwiseKernels = OperandTable<ElementwiseKernel>;

// One op on the GPU. Of static storage.
struct CudaElementwiseOp {
  const ElementwiseOp* op;
  const ElementwiseKernels* kernels;
};

// See REGISTER_CUDA_ELEMENTWISE.
struct CudaElementwiseRegistration {
  explicit CudaElementwiseRegistration(absl::Span<const CudaElementwiseOp> ops);
};

namespace elementwise_internal {

// Elements that a thread takes at once, up to 16 bytes.
template <typename T>
inline constexpr int kVector = std::is_same_v<T, float> || std::is_same_v<T, int32_t>    ? 4
                               : std::is_same_v<T, double> || std::is_same_v<T, int64_t> ? 2
                                                                                         : 1;

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T elements[kCount];
};

// Narrow floats are loaded and stored as such; everything else as T.
template <typename T>
__device__ T Load(const char* at, DType dtype) {
  if constexpr (std::is_same_v<T, float>) return LoadElement<float>(at, dtype, 0);
  return *reinterpret_cast<const T*>(at);
}
template <typename R>
__device__ void Store(char* at, DType dtype, R value) {
  if constexpr (std::is_same_v<R, float>) {
    StoreElement<float>(at, Contains(kNarrowFloat, dtype) ? dtype : DType::kFloat, 0, value);
  } else {
    *reinterpret_cast<R*>(at) = value;
  }
}
template <typename T, int kCount>
__device__ void LoadVector(const char* at, DType dtype, T (&values)[kCount]) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype != DType::kFloat) {
      const auto narrow = *reinterpret_cast<const Vector<uint16_t, kCount>*>(at);
      for (int v = 0; v < kCount; ++v) {
        values[v] = LoadElement<float>(narrow.elements, dtype, v);
      }
      return;
    }
  }
  const auto wide = *reinterpret_cast<const Vector<T, kCount>*>(at);
  for (int v = 0; v < kCount; ++v) values[v] = wide.elements[v];
}
template <typename R, int kCount>
__device__ void StoreVector(char* at, DType dtype, const R (&values)[kCount]) {
  if constexpr (std::is_same_v<R, float>) {
    if (Contains(kNarrowFloat, dtype)) {
      Vector<uint16_t, kCount> narrow;
      for (int v = 0; v < kCount; ++v) StoreElement<float>(narrow.elements, dtype, v, values[v]);
      *reinterpret_cast<Vector<uint16_t, kCount>*>(at) = narrow;
      return;
    }
  }
  Vector<R, kCount> wide;
  for (int v = 0; v < kCount; ++v) wide.elements[v] = values[v];
  *reinterpret_cast<Vector<R, kCount>*>(at) = wide;
}

// Calls the functor of `kArity` operands, and the attribute if there are more arguments. The result
// of operands that fail the check is 0: integers divided by zero, which the host cannot refuse.
template <typename F, int kArity, int kArgs, typename Check, typename T>
__device__ auto Call(const T (&x)[kArity], double attr) {
  using R = std::remove_cvref_t<ElementwiseResult<F, kArgs, T>>;
  if constexpr (!std::is_same_v<Check, NeverFails> && std::is_integral_v<T>) {
    if (Check{}(x[kArity - 1])) return R{};
  }
  const F f{};
  if constexpr (kArgs == kArity) {
    if constexpr (kArity == 1) return static_cast<R>(f(x[0]));
    if constexpr (kArity == 2) return static_cast<R>(f(x[0], x[1]));
    if constexpr (kArity == 3) return static_cast<R>(f(x[0], x[1], x[2]));
  } else {
    if constexpr (kArity == 1) return static_cast<R>(f(x[0], static_cast<T>(attr)));
    if constexpr (kArity == 2) return static_cast<R>(f(x[0], x[1], static_cast<T>(attr)));
  }
}

template <typename F, int kArity, int kArgs, typename Check, typename T, int kVectorSize>
__global__ void Apply(ElementwiseWork work) {
  const auto& box = work.box;
  using R = std::remove_cvref_t<ElementwiseResult<F, kArgs, T>>;
  if constexpr (kVectorSize > 1) {
    if (work.vectors) {
      const int64_t vectors = box.count / kVectorSize;
      for (int64_t i = FirstItem(); i < vectors; i += ItemStep()) {
        T x[kArity][kVectorSize];
        for (int a = 0; a < kArity; ++a) {
          if (box.strides[a + 1][0] == 0) {
            const T same = Load<T>(box.data[a + 1], work.dtype);
            for (int v = 0; v < kVectorSize; ++v) x[a][v] = same;
          } else {
            LoadVector(box.data[a + 1] + i * kVectorSize * box.strides[a + 1][0], work.dtype, x[a]);
          }
        }
        R z[kVectorSize];
        for (int v = 0; v < kVectorSize; ++v) {
          T arguments[kArity];
          for (int a = 0; a < kArity; ++a) arguments[a] = x[a][v];
          z[v] = Call<F, kArity, kArgs, Check>(arguments, work.attr);
        }
        StoreVector(box.data[0] + i * kVectorSize * box.strides[0][0], work.dtype, z);
      }
    }
  }
  const int64_t first = kVectorSize > 1 && work.vectors ? box.count / kVectorSize * kVectorSize : 0;
  for (int64_t i = first + FirstItem(); i < box.count; i += ItemStep()) {
    int64_t at[kMaxOperands];
    box.Offsets(i, at);
    T x[kArity];
    for (int a = 0; a < kArity; ++a) x[a] = Load<T>(box.data[a + 1] + at[a + 1], work.dtype);
    Store(box.data[0] + at[0], work.dtype, Call<F, kArity, kArgs, Check>(x, work.attr));
  }
}

// Functions that take long to compute gain nothing from wide loads: see kIsCheap.
template <typename F, int kArity, int kArgs, typename Check, bool kIsCheap, DTypeSet kDTypes>
constexpr ElementwiseKernels MakeKernels() {
  ElementwiseKernels kernels{};
  ForEachType<Instantiated(kDTypes) & ~kString>([&kernels]<typename S>(TypeTag<S>) {
    using T = OperandType<S>;
    kernels[OperandIndex(DTypeOf<S>)] = &Apply < F, kArity, kArgs, Check, T,
    kIsCheap ? kVector<T> : 1 > ;
  });
  return kernels;
}
template <typename F, int kArity, int kArgs, typename Check, bool kIsCheap, DTypeSet kDTypes>
inline constexpr ElementwiseKernels kKernels =
    MakeKernels<F, kArity, kArgs, Check, kIsCheap, kDTypes>();

// The most nanoseconds that a cheap op takes on a CPU.
inline constexpr double kCheapCost = 2;

template <const auto& kOps, size_t kIndex>
constexpr CudaElementwiseOp MakeOp() {
  constexpr const auto& kOp = std::get<kIndex>(kOps);
  using Declaration = std::remove_cvref_t<decltype(kOp)>;
  return {&kOp, &kKernels<typename Declaration::Functor, kOp.arity, Declaration::kNumArgs,
                          typename Declaration::CheckOfLast, kOp.cost <= kCheapCost,
                          Declaration::kOperandTypes>};
}
template <const auto& kOps, size_t... kIndex>
constexpr auto MakeOps(std::index_sequence<kIndex...>) {
  return std::array{MakeOp<kOps, kIndex>()...};
}
template <const auto& kOps>
inline constexpr auto kCudaOps = MakeOps<kOps>(
    std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(kOps)>>>());

}  // namespace elementwise_internal
}  // namespace tessera::cuda

#define REGISTER_CUDA_ELEMENTWISE(ops) TESSERA_REGISTER_CUDA_ELEMENTWISE(__COUNTER__, ops)
#define TESSERA_REGISTER_CUDA_ELEMENTWISE(counter, ops) \
  TESSERA_REGISTER_CUDA_ELEMENTWISE_INNER(counter, ops)
#define TESSERA_REGISTER_CUDA_ELEMENTWISE_INNER(counter, ops)                          \
  static const ::tessera::cuda::CudaElementwiseRegistration cuda_elementwise_##counter \
      [[maybe_unused]] {                                                               \
    ::tessera::cuda::elementwise_internal::kCudaOps<ops>                               \
  }

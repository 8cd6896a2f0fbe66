// A grid loop over every declared elementwise op, as an implementation for GPUs has it: shows that
// nvcc compiles all functors, and, where there is a GPU, that they give there what they give on the
// host. Prints the number of functions that agree, and those that do not. Exits with 77 if there is
// no GPU.
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/elementwise/bitwise.h"
#include "runtime/kernels/primitives/elementwise/choose.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"
#include "runtime/kernels/primitives/elementwise/convert.h"
#include "runtime/kernels/primitives/elementwise/special.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera {
namespace {

constexpr int kNoGpu = 77;
constexpr int kCount = 64;

template <typename F, typename R, typename... T>
__global__ void GridLoop(int count, R* result, const T*... operands) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    result[i] = F{}(operands[i]...);
  }
}

// Memory that both sides touch.
template <typename T>
class Shared {
 public:
  explicit Shared(int count) { cudaMallocManaged(&data_, count * sizeof(T)); }
  ~Shared() { cudaFree(data_); }
  Shared(const Shared&) = delete;
  T* get() const { return data_; }
  T& operator[](int i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

template <typename T>
struct IsComplexNumber : std::false_type {};
template <typename T>
struct IsComplexNumber<Complex<T>> : std::true_type {};

// Element i of operand `operand`: moderate numbers of both signs, and zeros.
template <typename T>
T Sample(int operand, int i) {
  if constexpr (std::is_same_v<T, bool>) {
    return (i >> operand) % 2 != 0;
  } else if constexpr (IsComplexNumber<T>::value) {
    using Part = typename T::value_type;
    return {Sample<Part>(operand, i), Sample<Part>(operand + 1, i)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>((i * (2 * operand + 3)) % 23 - 9) / 4;
  } else {
    return static_cast<T>((i * (2 * operand + 3)) % 11 - (std::is_signed_v<T> ? 4 : 0));
  }
}

// 0 where the parts are equal or both NaN.
template <typename T>
bool Agree(T x, T y) {
  if constexpr (IsComplexNumber<T>::value) {
    return Agree(x.real(), y.real()) && Agree(x.imag(), y.imag());
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x == y || (x != x && y != y)) return true;
    const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-10;
    return std::abs(x - y) <= tolerance * (1 + std::abs(x));
  } else {
    return x == y;
  }
}

struct Totals {
  int agree = 0;
  int differ = 0;
};

template <typename F, typename Check, typename... T>
void Compare(const char* name, Totals* totals) {
  using R = std::remove_cvref_t<std::invoke_result_t<F, T...>>;
  Shared<R> result(kCount);
  [&]<size_t... k>(std::index_sequence<k...>) {
    std::tuple<Shared<T>...> operands((static_cast<void>(k), kCount)...);
    using Last = std::tuple_element_t<sizeof...(T) - 1, std::tuple<T...>>;
    for (int i = 0; i < kCount; ++i) {
      ((std::get<k>(operands)[i] = Sample<T>(k, i)), ...);
      if constexpr (!std::is_same_v<Check, NeverFails> && std::is_integral_v<Last>) {
        Last& last = std::get<sizeof...(T) - 1>(operands)[i];
        if (Check{}(last)) last = 3;
      }
    }
    GridLoop<F, R, T...><<<2, 32>>>(kCount, result.get(), std::get<k>(operands).get()...);
    bool agrees = cudaDeviceSynchronize() == cudaSuccess;
    for (int i = 0; agrees && i < kCount; ++i) {
      agrees = Agree<R>(result[i], F{}(std::get<k>(operands)[i]...));
      if (!agrees) std::printf("%s of dtype %d, element %d\n", name, DTypeOf<Last>, i);
    }
    ++(agrees ? totals->agree : totals->differ);
  }
  (std::index_sequence_for<T...>());
}

template <typename F, int kArgs, DTypeSet kDTypes, typename Check>
void CompareOp(const ElementwiseDeclaration<F, kArgs, kDTypes, Check>& op, Totals* totals) {
  ForEachType<Instantiated(kDTypes & ~kString)>([&]<typename Stored>(TypeTag<Stored>) {
    using T = OperandType<Stored>;
    if constexpr (kArgs == 1) Compare<F, Check, T>(op.name, totals);
    if constexpr (kArgs == 2) Compare<F, Check, T, T>(op.name, totals);
    if constexpr (kArgs == 3) Compare<F, Check, T, T, T>(op.name, totals);
  });
}

template <typename... Ops>
void CompareList(const std::tuple<Ops...>& ops, Totals* totals) {
  std::apply([totals](const auto&... op) { (CompareOp(op, totals), ...); }, ops);
}

int Main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return kNoGpu;
  Totals totals;
  CompareList(functors::kActivationOps, &totals);
  CompareList(functors::kArithmeticOps, &totals);
  CompareList(functors::kBitwiseOps, &totals);
  CompareList(functors::kComparisonOps, &totals);
  CompareList(functors::kGeluFunctions, &totals);
  CompareList(functors::kSpecialOps, &totals);
  CompareList(functors::kTranscendentalOps, &totals);
  CompareList(functors::kUnaryOps, &totals);
  ForEachType<kReal & ~kNarrowFloat>([&]<typename To>(TypeTag<To>) {
    Compare<functors::Convert<To>, NeverFails, float>("Convert", &totals);
  });
  Compare<functors::Choose, NeverFails, bool, float, float>("Choose", &totals);
  std::printf("%d agree, %d differ\n", totals.agree, totals.differ);
  return totals.differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main() { return tessera::Main(); }

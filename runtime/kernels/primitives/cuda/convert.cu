// Element by element, without a table of ops: Cast, AddN and Activate.
#include "runtime/kernels/primitives/activate.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/kernels/primitives/cast.h"
#include "runtime/kernels/primitives/cuda/activate.h"
#include "runtime/kernels/primitives/cuda/activation_functions.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"

namespace tessera::cuda {
namespace {

// As functors::Convert (runtime/kernels/primitives/elementwise/convert.h), which is what processors
// of the x86 family do: what does not fit in a signed integer gives the least one.
TESSERA_DEVICE_FUNCTION int64_t TruncateTo64(double x) {
  const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
  return fits ? static_cast<int64_t>(x) : device_std::numeric_limits<int64_t>::min();
}
TESSERA_DEVICE_FUNCTION int64_t TruncateTo32(double x) {
  const bool fits = x > -2147483649.0 && x < 2147483648.0;
  return fits ? static_cast<int32_t>(x) : device_std::numeric_limits<int32_t>::min();
}

template <typename From, typename To>
TESSERA_DEVICE_FUNCTION To Converted(From x, DType to) {
  if constexpr (std::is_same_v<To, int64_t>) {
    if (to == DType::kBool) return x != From{0};
    if constexpr (std::is_floating_point_v<From>) {
      return to == DType::kInt64 || to == DType::kUint32 ? TruncateTo64(x) : TruncateTo32(x);
    }
  }
  if constexpr (std::is_same_v<To, uint64_t> && std::is_floating_point_v<From>) {
    if (x < 0) return static_cast<uint64_t>(TruncateTo64(x));
  }
  return static_cast<To>(x);
}

// Clears the lowest bits of a float or a double.
template <typename T>
TESSERA_DEVICE_FUNCTION T ClearLowBits(T x, int bits) {
  if constexpr (std::is_same_v<T, float>) {
    return device_std::bit_cast<T>(device_std::bit_cast<uint32_t>(x) & ~((1u << bits) - 1));
  } else if constexpr (std::is_same_v<T, double>) {
    return device_std::bit_cast<T>(device_std::bit_cast<uint64_t>(x) &
                                   ~((uint64_t{1} << bits) - 1));
  } else {
    return x;
  }
}

// Complex numbers are pairs of real ones.
enum class ImaginaryPart { kNone, kZero, kConverted };

template <typename From, typename To>
__global__ void ConvertElements(int64_t count, Input<From> from, int from_step, int cleared_bits,
                                Output<To> to, int to_step, ImaginaryPart imaginary) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const auto convert = [&](int64_t part) {
      From x = from[i * from_step + part];
      if (cleared_bits > 0) x = ClearLowBits(x, cleared_bits);
      to.Set(i * to_step + part, Converted<From, To>(x, to.dtype));
    };
    convert(0);
    if (imaginary == ImaginaryPart::kConverted) convert(1);
    if (imaginary == ImaginaryPart::kZero) to.Set(i * to_step + 1, To{0});
  }
}

DType RealPart(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

absl::Status RunCast(KernelContext& ctx, const Tensor& from, int cleared_bits, Tensor* to) {
  const bool from_complex = IsComplex(from.dtype()), to_complex = IsComplex(to->dtype());
  const DType from_type = RealPart(from.dtype()), to_type = RealPart(to->dtype());
  const ImaginaryPart imaginary = !to_complex    ? ImaginaryPart::kNone
                                  : from_complex ? ImaginaryPart::kConverted
                                                 : ImaginaryPart::kZero;
  // Narrow floats have no bits to clear beyond what they hold.
  const int bits = from_type == DType::kFloat || from_type == DType::kDouble ? cleared_bits : 0;
  return VisitComputeType<kReal | kBool>(from_type, [&]<typename From>() {
    return VisitComputeType<kReal | kBool>(to_type, [&]<typename To>() {
      return LaunchItems(ctx, from.num_elements(), ConvertElements<From, To>, from.num_elements(),
                         Input<From>(from.address(), from_type), from_complex ? 2 : 1, bits,
                         Output<To>(to->address(), to_type), to_complex ? 2 : 1, imaginary);
    });
  });
}
REGISTER_CUDA_PRIMITIVE(Cast, RunCast);

// The addends that one launch takes. More take several.
constexpr int kMaxAddends = 8;
struct Addends {
  int count;
  const void* data[kMaxAddends];
};

template <typename A>
__global__ void AddElements(int64_t count, DType dtype, Addends addends, void* sum) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    A total = LoadElement<A>(addends.data[0], dtype, i);
    for (int a = 1; a < addends.count; ++a) {
      total = Rounded<A>(dtype, total + LoadElement<A>(addends.data[a], dtype, i));
    }
    StoreElement<A>(sum, dtype, i, total);
  }
}

absl::Status RunAddN(KernelContext& ctx, DType dtype, int64_t count,
                     absl::Span<const char* const> addends, char* sum) {
  return VisitComputeType<kNumeric>(dtype, [&]<typename A>() -> absl::Status {
    for (size_t first = 0; first < addends.size();) {
      Addends part{};
      if (first > 0) part.data[part.count++] = sum;
      while (part.count < kMaxAddends && first < addends.size()) {
        part.data[part.count++] = addends[first++];
      }
      RETURN_IF_ERROR(
          LaunchItems(ctx, count, AddElements<A>, count, dtype, part, static_cast<void*>(sum)));
    }
    return absl::OkStatus();
  });
}
REGISTER_CUDA_PRIMITIVE(AddN, RunAddN);

// Integers are activated as doubles.
template <typename A>
__global__ void ActivateElements(int64_t count, Activation activation, float alpha,
                                 Output<A> values) {
  using T = std::conditional_t<std::is_integral_v<A>, double, A>;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    values.Set(i, static_cast<A>(Activated(activation, alpha, static_cast<T>(values[i]))));
  }
}

REGISTER_CUDA_PRIMITIVE(Activate, RunActivate);

}  // namespace

absl::Status RunActivate(KernelContext& ctx, Activation activation, float alpha, Tensor* values) {
  if (activation == Activation::kNone) return absl::OkStatus();
  return VisitComputeType<kReal>(values->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, values->num_elements(), ActivateElements<A>, values->num_elements(),
                       activation, alpha, Output<A>(values));
  });
}

}  // namespace tessera::cuda

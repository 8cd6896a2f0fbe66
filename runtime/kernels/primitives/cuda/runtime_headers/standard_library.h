// The parts of the standard library and of CUDA's that functors need, for NVRTC, which comes
// without headers.
//
// Stands for <cmath>, <cstdint>, <type_traits>, absl/status/status.h and
// runtime/kernels/primitives/math/device_std.h in kernels that are compiled while the program runs
// (runtime/kernels/primitives/cuda/sweep_source.h). The host's compiler, in tests, has the
// originals of the first three. Compiled with -default-device.
#pragma once

#include "runtime/kernels/primitives/device_function.h"

#ifdef __CUDACC_RTC__

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#define INFINITY __builtin_bit_cast(float, 0x7f800000)

namespace std {

template <typename T>
inline constexpr bool is_floating_point_v = false;
template <>
inline constexpr bool is_floating_point_v<float> = true;
template <>
inline constexpr bool is_floating_point_v<double> = true;
// Only floating-point numbers reach the functors.
template <typename T>
inline constexpr bool is_integral_v = false;
template <typename T>
inline constexpr bool is_signed_v = is_floating_point_v<T>;
template <typename T>
inline constexpr bool is_unsigned_v = false;
template <typename T, typename U>
inline constexpr bool is_same_v = false;
template <typename T>
inline constexpr bool is_same_v<T, T> = true;

#define TESSERA_UNARY(name)                           \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }
#define TESSERA_BINARY(name)                                      \
  inline float name(float x, float y) { return ::name##f(x, y); } \
  inline double name(double x, double y) { return ::name(x, y); }
TESSERA_UNARY(acos)
TESSERA_UNARY(acosh)
TESSERA_UNARY(asin)
TESSERA_UNARY(asinh)
TESSERA_UNARY(atan)
TESSERA_UNARY(atanh)
TESSERA_UNARY(ceil)
TESSERA_UNARY(cos)
TESSERA_UNARY(cosh)
TESSERA_UNARY(erf)
TESSERA_UNARY(erfc)
TESSERA_UNARY(exp)
TESSERA_UNARY(expm1)
TESSERA_UNARY(fabs)
TESSERA_UNARY(floor)
TESSERA_UNARY(log)
TESSERA_UNARY(log1p)
TESSERA_UNARY(rint)
TESSERA_UNARY(sin)
TESSERA_UNARY(sinh)
TESSERA_UNARY(sqrt)
TESSERA_UNARY(tan)
TESSERA_UNARY(tanh)
TESSERA_UNARY(trunc)
TESSERA_BINARY(atan2)
TESSERA_BINARY(copysign)
TESSERA_BINARY(fmod)
TESSERA_BINARY(nextafter)
TESSERA_BINARY(pow)
#undef TESSERA_UNARY
#undef TESSERA_BINARY

inline float abs(float x) { return ::fabsf(x); }
inline double abs(double x) { return ::fabs(x); }
inline float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
template <typename T>
bool isfinite(T x) {
  return x - x == 0;
}

template <typename T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return INFINITY; }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000); }
  static constexpr float min() { return 1.17549435e-38f; }
};
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return INFINITY; }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
};

template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

// Complex numbers are declared, for the templates that name them, and not defined.
template <typename T>
class complex;
template <typename T>
complex<T> exp(complex<T> x);
template <typename T>
complex<T> log(complex<T> x);
template <typename T>
complex<T> tanh(complex<T> x);
template <typename T>
complex<T> conj(complex<T> x);
template <typename T>
T norm(complex<T> x);
template <typename T>
T arg(complex<T> x);
template <typename T>
T abs(complex<T> x);

// Takes the tables of declarations.
struct tuple {
  template <typename... T>
  constexpr tuple(T...) {}
};

}  // namespace std

#else

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#endif

namespace absl {
enum class StatusCode { kInvalidArgument, kInternal };
}

namespace tessera {
namespace device_std = ::std;
template <typename T>
using Complex = device_std::complex<T>;
}  // namespace tessera

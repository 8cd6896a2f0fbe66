// Composite ops of half and bfloat16, whose results depend on the roundings between their steps.
//
// TensorFlow computes these ops from primitive steps and rounds each of them to 16 bits. The
// functors here follow its formulas and the order of its operations. The other ops have the same
// bits if they are computed in float and rounded once, and have no declarations of their own here.
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera {
namespace {

// Returns the nearest half, ties to even, as a float. NaN stays NaN.
float RoundToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // Thirteen bits of the significand are cut off; the carry may run into the exponent.
  const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & ~uint32_t{0x1fff};
  const uint32_t beyond = magnitude > 0x7f800000 ? magnitude : 0x7f800000;  // NaN or infinity
  const uint32_t large = normal >= 0x47800000 ? beyond : normal;            // 2^16 overflows
  // Floats from 0.5 to 1 are as far from each other as denormal halves are.
  const uint32_t small = std::bit_cast<uint32_t>((std::bit_cast<float>(magnitude) + 0.5f) - 0.5f);
  const uint32_t rounded = magnitude < 0x38800000 ? small : large;  // 2^-14 is the least normal one
  return std::bit_cast<float>(rounded | (bits & 0x80000000));
}

// The same for bfloat16.
float RoundToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  return std::bit_cast<float>((bits & 0x7fffffff) > 0x7f800000 ? bits : rounded);
}

// A number of Storage, which is Eigen::half or Eigen::bfloat16, held as a float: each operation is
// computed in float and rounded. Free of branches, so that loops vectorise.
template <typename Storage>
class Rounded {
 public:
  static constexpr bool kIsHalf = std::is_same_v<Storage, Eigen::half>;
  static_assert(kIsHalf || std::is_same_v<Storage, Eigen::bfloat16>);

  Rounded(float value)  // NOLINT(google-explicit-constructor): constants are written as numbers
      : value_(kIsHalf ? RoundToHalf(value) : RoundToBfloat16(value)) {}
  // `value` must be one that Storage holds exactly.
  static Rounded FromStored(float value) {
    Rounded number;
    number.value_ = value;
    return number;
  }

  float value() const { return value_; }

  friend Rounded operator-(Rounded x) { return FromStored(-x.value_); }
  friend Rounded operator+(Rounded x, Rounded y) { return x.value_ + y.value_; }
  friend Rounded operator-(Rounded x, Rounded y) { return x.value_ - y.value_; }
  friend Rounded operator*(Rounded x, Rounded y) { return x.value_ * y.value_; }
  friend Rounded operator/(Rounded x, Rounded y) { return x.value_ / y.value_; }
  friend bool operator==(Rounded x, Rounded y) { return x.value_ == y.value_; }
  friend bool operator<(Rounded x, Rounded y) { return x.value_ < y.value_; }
  friend bool operator>(Rounded x, Rounded y) { return x.value_ > y.value_; }

  friend Rounded Absolute(Rounded x) { return FromStored(std::fabs(x.value_)); }
  friend Rounded Floor(Rounded x) { return FromStored(std::floor(x.value_)); }
  friend Rounded Truncate(Rounded x) { return FromStored(std::trunc(x.value_)); }
  friend Rounded Exp(Rounded x) { return math::Exp(x.value_); }
  friend Rounded Log(Rounded x) { return math::Log(x.value_); }
  friend Rounded Log1p(Rounded x) { return math::Log1p(x.value_); }

 private:
  Rounded() = default;

  float value_;
};

namespace stepwise {

struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    const T e = Exp(x);
    return e == T{math::kInf} ? T{1} : e / (T{1} + e);
  }
};
struct Elu {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? Exp(x) - T{1} : x;
  }
};
struct Selu {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T(functors::kSeluScaleAlpha) * (Exp(x) - T{1}) : T(functors::kSeluScale) * x;
  }
};
struct Softplus {
  // Beyond the threshold on either side the result is the argument, or its exponential. The
  // threshold is log(epsilon) + 2. TensorFlow takes 2^-13 for the epsilon of half, and 2^-7 for
  // that of bfloat16.
  template <typename T>
  T operator()(T x) const {
    const T threshold = T(T::kIsHalf ? -7.0078125f : -2.84375f);
    const T e = Exp(x);
    return x > -threshold ? x : (x < threshold ? e : Log1p(e));
  }
};
struct Softsign {
  template <typename T>
  T operator()(T x) const {
    return x / (T{1} + Absolute(x));
  }
};
struct SoftplusGrad {
  template <typename T>
  T operator()(T g, T x) const {
    return g / (Exp(-x) + T{1});
  }
};
struct SoftsignGrad {
  template <typename T>
  T operator()(T g, T x) const {
    const T d = T{1} + Absolute(x);
    return g / (d * d);
  }
};
struct SigmoidGrad {
  template <typename T>
  T operator()(T y, T g) const {
    return g * (y * (T{1} - y));
  }
};
struct SqrtGrad {
  template <typename T>
  T operator()(T y, T g) const {
    return g == 0 ? T{0} : g * (T{0.5f} / y);
  }
};
struct RsqrtGrad {
  template <typename T>
  T operator()(T y, T g) const {
    // A product that underflows is a positive zero, whatever is multiplied by it.
    const T product = g * y;
    const T factor = T{-0.5f} * (y * y);
    return g == 0 || product == 0 ? T{0} : product * factor;
  }
};
struct FloorDiv {
  template <typename T>
  T operator()(T x, T y) const {
    return Floor(x / y);
  }
};
struct TruncateDiv {
  template <typename T>
  T operator()(T x, T y) const {
    return Truncate(x / y);
  }
};
// In the next three a zero keeps its sign.
struct Xdivy {
  template <typename T>
  T operator()(T x, T y) const {
    return x == 0 ? x : x / y;
  }
};
struct Xlogy {
  template <typename T>
  T operator()(T x, T y) const {
    return x == 0 ? x : x * Log(y);
  }
};
struct Xlog1py {
  template <typename T>
  T operator()(T x, T y) const {
    return x == 0 ? x : x * Log1p(y);
  }
};

}  // namespace stepwise

// A functor of Rounded<Storage> operands for floats that hold numbers of Storage.
template <typename F, typename Storage>
struct OnFloats {
  template <typename... Float>
  float operator()(Float... x) const {
    return F{}(Rounded<Storage>::FromStored(x)...).value();
  }
};

// The declarations for one storage type. Functors of float serve where the order of their
// operations is TensorFlow's.
template <typename Storage>
constexpr auto OpsOf() {
  constexpr DTypeSet kDType = DTypes(DTypeOf<Storage>);
  return std::tuple{
      Unary<OnFloats<stepwise::Elu, Storage>, kDType>("Elu").Cost(1),
      Unary<OnFloats<stepwise::Selu, Storage>, kDType>("Selu").Cost(1),
      Unary<OnFloats<stepwise::Sigmoid, Storage>, kDType>("Sigmoid").Cost(1),
      Unary<OnFloats<stepwise::Softplus, Storage>, kDType>("Softplus").Cost(2),
      Unary<OnFloats<stepwise::Softsign, Storage>, kDType>("Softsign"),
      Binary<OnFloats<functors::EluGrad, Storage>, kDType>("EluGrad"),
      Binary<OnFloats<functors::SeluGrad, Storage>, kDType>("SeluGrad"),
      Binary<OnFloats<stepwise::SoftplusGrad, Storage>, kDType>("SoftplusGrad").Cost(1),
      Binary<OnFloats<stepwise::SoftsignGrad, Storage>, kDType>("SoftsignGrad"),
      Binary<OnFloats<functors::TanhGrad, Storage>, kDType>("TanhGrad"),
      Binary<OnFloats<stepwise::SigmoidGrad, Storage>, kDType>("SigmoidGrad"),
      Binary<OnFloats<stepwise::SqrtGrad, Storage>, kDType>("SqrtGrad"),
      Binary<OnFloats<stepwise::RsqrtGrad, Storage>, kDType>("RsqrtGrad"),
      Binary<OnFloats<functors::ReciprocalGrad, Storage>, kDType>("InvGrad"),
      Binary<OnFloats<functors::ReciprocalGrad, Storage>, kDType>("ReciprocalGrad"),
      Binary<OnFloats<functors::SquaredDifference, Storage>, kDType>("SquaredDifference"),
      Binary<OnFloats<stepwise::FloorDiv, Storage>, kDType>("FloorDiv"),
      Binary<OnFloats<stepwise::TruncateDiv, Storage>, kDType>("TruncateDiv"),
      Binary<OnFloats<stepwise::Xdivy, Storage>, kDType>("Xdivy"),
      Binary<OnFloats<stepwise::Xlogy, Storage>, kDType>("Xlogy").Cost(1),
      Binary<OnFloats<stepwise::Xlog1py, Storage>, kDType>("Xlog1py").Cost(1),
  };
}
constexpr auto kHalfOps = OpsOf<Eigen::half>();
constexpr auto kBfloat16Ops = OpsOf<Eigen::bfloat16>();

REGISTER_COSTLY_CPU_ELEMENTWISE(kHalfOps);
REGISTER_COSTLY_CPU_ELEMENTWISE(kBfloat16Ops);

}  // namespace
}  // namespace tessera

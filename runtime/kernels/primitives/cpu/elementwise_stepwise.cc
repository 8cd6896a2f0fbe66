// Composite ops of half and bfloat16, whose results depend on the roundings between their steps.
//
// TensorFlow computes these ops from primitive steps and rounds each of them to 16 bits. The
// functors here follow its formulas and the order of its operations. The other ops are computed in
// float and rounded once, and have no declarations here. Their results have the same bits, except
// for the last bit of some transcendental functions and of bfloat16 results that pass through
// denormal numbers.
#include <tuple>

#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/cpu/rounded_float.h"
#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"

namespace tessera {
namespace {

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
  // Above -threshold the result is the argument, and below the threshold it is the exponential of
  // the argument. The threshold is log(epsilon) + 2, where TensorFlow takes 2^-13 for the epsilon
  // of half and 2^-7 for that of bfloat16.
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
    // If the product is zero, also by underflow, the result is a positive zero.
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
// In the next three functors a zero keeps its sign.
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

// Applies a functor of Rounded<Storage> operands to floats that hold numbers of Storage.
template <typename F, typename Storage>
struct OnFloats {
  template <typename... Float>
  float operator()(Float... x) const {
    return F{}(Rounded<Storage>::FromStored(x)...).value();
  }
};

// The declarations for one storage type. A functor that float uses too is taken where its
// operations have TensorFlow's order.
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

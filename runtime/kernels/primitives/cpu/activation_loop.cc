#include "runtime/kernels/primitives/cpu/activation_loop.h"

#include "runtime/kernels/primitives/cpu/vector_abi.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#ifdef __AVX512F__
#include "runtime/kernels/primitives/cpu/avx512_exponential.h"
#endif

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

struct Elu {
  float operator()(float, float x) const { return x < 0.0f ? math::Expm1OfNegative(x) : x; }
};
struct LeakyRelu {
  float operator()(float alpha, float x) const { return x < 0.0f ? alpha * x : x; }
};
struct Tanh {
  float operator()(float, float x) const { return math::Tanh(x); }
};

template <typename F>
void Loop(float alpha, float* values, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) values[i] = F()(alpha, values[i]);
}

#ifdef __AVX512F__

// Returns numerator / divisor. Requires a divisor of at least 1. AMD's processors divide vectors
// quickly. For others this takes an estimate of 14 bits and one step of Newton's method, which
// doubles them.
template <bool kDivides>
inline __m512 Quotient(__m512 numerator, __m512 divisor) {
  if constexpr (kDivides) return _mm512_div_ps(numerator, divisor);
  // The reciprocals of larger divisors would be denormal and are set to 0. NaN passes through.
  const __mmask16 is_normal = _mm512_cmp_ps_mask(divisor, _mm512_set1_ps(0x1p126f), _CMP_NGE_UQ);
  const __m512 estimate = _mm512_rcp14_ps(divisor);
  const __m512 error = _mm512_fnmadd_ps(divisor, estimate, _mm512_set1_ps(1.0f));
  return _mm512_mul_ps(numerator, _mm512_maskz_fmadd_ps(is_normal, estimate, error, estimate));
}

constexpr double kLog2e = 1.4426950408889634;

// Returns 1 + exp(-x) within 2 units in the last place, or infinity where the exponential
// overflows. It takes half the instructions of math::Exp(), because AVX-512 scales by powers of
// two.
inline __m512 OnePlusExpOfMinus(__m512 x) {
  // Beyond these bounds the sum is 1 or infinite. Both instructions return the second operand if it
  // is NaN.
  const __m512 bounded =
      _mm512_max_ps(_mm512_set1_ps(-104.0f), _mm512_min_ps(_mm512_set1_ps(32.0f), x));
  return _mm512_add_ps(_mm512_set1_ps(1.0f), PowerOfTwo(SplitOf(-kLog2e), bounded));
}

template <bool kDivides>
struct Sigmoid {
  __m512 operator()(__m512 x) const {
    return Quotient<kDivides>(_mm512_set1_ps(1.0f), OnePlusExpOfMinus(x));
  }
};
template <bool kDivides>
struct Swish {
  __m512 operator()(__m512 x) const { return Quotient<kDivides>(x, OnePlusExpOfMinus(x)); }
};
// The approximate GELU, x (1 + tanh(y)) / 2 = x / (1 + exp(-2 y)), for y = sqrt(2 / pi) (x +
// 0.044715 x^3).
template <bool kDivides>
struct GeluTanh {
  __m512 operator()(__m512 x) const {
    const __m512 square = _mm512_mul_ps(x, x);
    const __m512 factor = _mm512_fmadd_ps(square, _mm512_set1_ps(1.59576912f * 0.044715f),
                                          _mm512_set1_ps(1.59576912f));
    return Quotient<kDivides>(x, OnePlusExpOfMinus(_mm512_mul_ps(x, factor)));
  }
};

// The exact GELU, x erfc(-x / sqrt(2)) / 2 = max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2, by the
// formula of math::Erfc().
template <bool kDivides>
struct GeluErf {
  __m512 operator()(__m512 x) const {
    // The subtrahend is 0 for large x, even if x is infinite. It is NaN for -infinity.
    const __m512 least = _mm512_min_ps(x, _mm512_set1_ps(20.0f));
    const __m512 a = _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), x), least);
    const __m512 square = _mm512_mul_ps(a, a);
    // The exponentials of larger squares would be denormal.
    const __mmask16 counts = _mm512_cmp_ps_mask(square, _mm512_set1_ps(174.0f), _CMP_LE_OQ);
    const __m512 power = PowerOfTwo(SplitOf(-0.5 * kLog2e), square, counts);
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 t = Quotient<kDivides>(
        one, _mm512_fmadd_ps(a, _mm512_set1_ps(0.707106781f), _mm512_set1_ps(1.5f)));
    const __m512 u = _mm512_fnmadd_ps(_mm512_set1_ps(3.0f), t, one);
    constexpr float kPowers[] = {-0.000133887355f, -0.000162341705f, 0.000731280888f,
                                 0.00181694573f,   -0.000738285133f, -0.00946973171f,
                                 -0.00813420489f,  0.0477691628f,    0.0756228343f,
                                 -0.507850051f,    0.96475625f};
    __m512 p = _mm512_set1_ps(kPowers[0]);
#pragma GCC unroll 10
    for (int i = 1; i < 11; ++i) p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(kPowers[i]));
    const __m512 erfc = _mm512_mul_ps(_mm512_mul_ps(power, t), p);
    // The instruction returns its second operand if that is NaN.
    const __m512 positive = _mm512_max_ps(_mm512_setzero_ps(), x);
    return _mm512_fnmadd_ps(_mm512_mul_ps(a, _mm512_set1_ps(0.5f)), erfc, positive);
  }
};

template <typename F>
void VectorLoop(float /*alpha*/, float* values, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    _mm512_storeu_ps(values + i, F()(_mm512_loadu_ps(values + i)));
  }
  if (i == count) return;
  const __mmask16 rest = static_cast<__mmask16>((1u << (count - i)) - 1);
  _mm512_mask_storeu_ps(values + i, rest, F()(_mm512_maskz_loadu_ps(rest, values + i)));
}

template <template <bool> typename F>
ActivationLoop LoopOf() {
  static const bool divides = __builtin_cpu_is("amd");
  return divides ? VectorLoop<F<true>> : VectorLoop<F<false>>;
}

#else

struct Sigmoid {
  float operator()(float, float x) const { return math::Sigmoid(x); }
};
struct Swish {
  float operator()(float, float x) const { return x * math::Sigmoid(x); }
};
struct GeluErf {
  float operator()(float, float x) const { return math::Gelu(x); }
};
struct GeluTanh {
  float operator()(float, float x) const { return math::ApproximateGelu(x); }
};

template <typename F>
ActivationLoop LoopOf() {
  return Loop<F>;
}

#endif

}  // namespace

ActivationLoop ActivationLoopOf(Activation activation) {
  switch (activation) {
    case Activation::kNone:
    case Activation::kRelu:
    case Activation::kRelu6:
      return nullptr;
    case Activation::kElu:
      return Loop<Elu>;
    case Activation::kLeakyRelu:
      return Loop<LeakyRelu>;
    case Activation::kTanh:
      return Loop<Tanh>;
    case Activation::kSigmoid:
      return LoopOf<Sigmoid>();
    case Activation::kSwish:
      return LoopOf<Swish>();
    case Activation::kGeluErf:
      return LoopOf<GeluErf>();
    case Activation::kGeluTanh:
      return LoopOf<GeluTanh>();
  }
  return nullptr;
}

}  // namespace tessera::TESSERA_VECTOR_ABI

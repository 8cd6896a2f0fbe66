// The rules of optimizers: how each updates one element of a variable and its slots. Each rule
// names its paper, if there is one. Rules compute the same as TensorFlow's kernels, but may round
// differently.
//
// A rule is made from the scalars of a step, as OptimizerRule lists them, and called with the
// gradient, the variable, and the slots. Those rules that compare no numbers but take roots, which
// take long, may also be called with vectors V of T.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/math/device_std.h"

// Files that compile these rules for another instruction set than the rest of the program define
// this macro first; see elementary_functions.h.
#ifndef TESSERA_VECTOR_ABI
#define TESSERA_VECTOR_ABI portable
#endif

namespace tessera::optimizers {
inline namespace TESSERA_VECTOR_ABI {

#ifdef __CUDACC__
TESSERA_DEVICE_FUNCTION inline float Sqrt(float x) { return ::sqrtf(x); }
TESSERA_DEVICE_FUNCTION inline double Sqrt(double x) { return ::sqrt(x); }
TESSERA_DEVICE_FUNCTION inline float Pow(float x, float y) { return ::powf(x, y); }
TESSERA_DEVICE_FUNCTION inline double Pow(double x, double y) { return ::pow(x, y); }
#else
inline float Sqrt(float x) { return __builtin_sqrtf(x); }
inline double Sqrt(double x) { return __builtin_sqrt(x); }
inline float Pow(float x, float y) { return __builtin_powf(x, y); }
inline double Pow(double x, double y) { return __builtin_pow(x, y); }
#endif
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Sqrt(Complex<T> x) {
  return device_std::sqrt(x);
}

template <typename T>
TESSERA_DEVICE_FUNCTION T Exp(T x) {
  return device_std::exp(x);
}

// Returns x / (sqrt(y) + epsilon). Types that round each step have an overload of their own.
template <typename V, typename T>
TESSERA_DEVICE_FUNCTION V OverRoot(V x, V y, T epsilon) {
  return x / (Sqrt(y) + epsilon);
}

template <typename T>
TESSERA_DEVICE_FUNCTION T Sign(T x) {
  return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
}

// Returns x, whose magnitude is replaced by what `magnitude` exceeds `threshold` by, or by 0. NaN
// stays NaN.
template <typename T>
TESSERA_DEVICE_FUNCTION T WithExcess(T x, T magnitude, T threshold) {
  const T excess = magnitude - threshold;
  return Sign(x) * (excess < T(0) ? T(0) : excess);
}

template <typename T>
TESSERA_DEVICE_FUNCTION T Magnitude(T x) {
  return x < T(0) ? -x : x;
}

// Returns x, moved towards 0 by l1 * scale but not beyond 0. A negative scale moves it away from 0,
// and a weight l1 that is not positive leaves it as it is.
template <typename T>
TESSERA_DEVICE_FUNCTION T SoftThreshold(T x, T l1, T scale) {
  return l1 > T(0) ? WithExcess(x, Magnitude(x), l1 * scale) : x;
}

template <typename T>
struct GradientDescent {
  TESSERA_DEVICE_FUNCTION explicit GradientDescent(const T* s) : lr(s[0]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var) const { var -= lr * g; }
  T lr;
};

template <typename T, bool kNesterov>
struct Momentum {
  TESSERA_DEVICE_FUNCTION explicit Momentum(const T* s) : lr(s[0]), momentum(s[1]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& accum) const {
    accum = accum * momentum + g;
    if constexpr (kNesterov) {
      var -= g * lr + accum * momentum * lr;
    } else {
      var -= accum * lr;
    }
  }
  T lr, momentum;
};

template <typename T, bool kNesterov>
struct KerasMomentum {
  TESSERA_DEVICE_FUNCTION explicit KerasMomentum(const T* s) : lr(s[0]), momentum(s[1]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& accum) const {
    accum = accum * momentum - g * lr;
    if constexpr (kNesterov) {
      var += accum * momentum - g * lr;
    } else {
      var += accum;
    }
  }
  T lr, momentum;
};

// Duchi, Hazan, Singer: Adaptive Subgradient Methods (2011).
template <typename T, bool kUpdateSlots>
struct Adagrad {
  TESSERA_DEVICE_FUNCTION explicit Adagrad(const T* s) : lr(s[0]), epsilon(s[1]) {}
  template <typename V>
  TESSERA_DEVICE_FUNCTION void operator()(V g, V& var, V& accum) const {
    if constexpr (kUpdateSlots) accum += g * g;
    var -= OverRoot(lr * g, accum, epsilon);
  }
  T lr, epsilon;
};

// Dual averaging, from the paper of Adagrad. TensorFlow divides numerator and denominator by the
// number of the step for rows of several elements, which differs for steps that are not positive.
template <typename T>
struct AdagradDa {
  TESSERA_DEVICE_FUNCTION explicit AdagradDa(const T* s)
      : lr(s[0]), l1(s[1]), l2(s[2]), step(s[3]), divides(s[4] != T(0)) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& sum, T& sum_of_squares) const {
    sum += g;
    sum_of_squares += g * g;
    const T root = Sqrt(sum_of_squares);
    var = divides ? -Mean(sum) / (l2 + root / (step * lr))
                  : -lr * SoftThreshold(sum, l1, step) / (l2 * step * lr + root);
  }
  TESSERA_DEVICE_FUNCTION T Mean(T sum) const {
    return l1 > T(0) ? WithExcess(sum, Magnitude(sum) / step, l1) : sum / step;
  }
  T lr, l1, l2, step;
  bool divides;
};

// Zeiler: ADADELTA (2012).
template <typename T>
struct Adadelta {
  TESSERA_DEVICE_FUNCTION explicit Adadelta(const T* s) : lr(s[0]), rho(s[1]), epsilon(s[2]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& accum, T& accum_update) const {
    accum = accum * rho + g * g * (T(1) - rho);
    const T update = OverRoot(Sqrt(accum_update + epsilon), accum + epsilon, T(0)) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (T(1) - rho);
  }
  T lr, rho, epsilon;
};

// Kingma, Ba: Adam (2014), in the form of its section 2 with epsilon outside of the root.
template <typename T, bool kNesterov>
struct Adam {
  TESSERA_DEVICE_FUNCTION explicit Adam(const T* s)
      : alpha(s[0] * Sqrt(T(1) - s[5]) / (T(1) - s[4])),
        beta1(s[1]),
        rest1(T(1) - s[1]),
        rest2(T(1) - s[2]),
        epsilon(s[3]) {}
  template <typename V>
  TESSERA_DEVICE_FUNCTION void operator()(V g, V& var, V& m, V& v) const {
    m += (g - m) * rest1;
    v += (g * g - v) * rest2;
    if constexpr (kNesterov) {
      var -= (g * rest1 + beta1 * m) * alpha / (Sqrt(v) + epsilon);
    } else {
      var -= m * alpha / (Sqrt(v) + epsilon);
    }
  }
  T alpha, beta1, rest1, rest2, epsilon;
};

// Reddi, Kale, Kumar: On the Convergence of Adam and Beyond (2018).
template <typename T>
struct AdamWithAmsgrad {
  TESSERA_DEVICE_FUNCTION explicit AdamWithAmsgrad(const T* s) : adam(s) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& m, T& v, T& largest) const {
    m += (g - m) * adam.rest1;
    v += (g * g - v) * adam.rest2;
    largest = largest < v ? v : largest;
    var -= m * adam.alpha / (Sqrt(largest) + adam.epsilon);
  }
  Adam<T, false> adam;
};

// AdaMax, from section 7.1 of the paper of Adam.
template <typename T>
struct AdaMax {
  TESSERA_DEVICE_FUNCTION explicit AdaMax(const T* s)
      : step(s[0] / (T(1) - s[4])), rest1(T(1) - s[1]), beta2(s[2]), epsilon(s[3]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& m, T& norm) const {
    m += (g - m) * rest1;
    const T decayed = beta2 * norm;
    const T size = g < T(0) ? -g : g;
    norm = decayed < size ? size : decayed;
    var -= step * (m / (norm + epsilon));
  }
  T step, rest1, beta2, epsilon;
};

template <typename T>
struct RmsProp {
  TESSERA_DEVICE_FUNCTION explicit RmsProp(const T* s)
      : lr(s[0]), rest(T(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
  template <typename V>
  TESSERA_DEVICE_FUNCTION void operator()(V g, V& var, V& mean_square, V& mom) const {
    mean_square += (g * g - mean_square) * rest;
    mom = mom * momentum + g * lr / Sqrt(mean_square + epsilon);
    var -= mom;
  }
  T lr, rest, momentum, epsilon;
};

template <typename T>
struct CenteredRmsProp {
  TESSERA_DEVICE_FUNCTION explicit CenteredRmsProp(const T* s) : base(s) {}
  template <typename V>
  TESSERA_DEVICE_FUNCTION void operator()(V g, V& var, V& mean, V& mean_square, V& mom) const {
    mean_square += (g * g - mean_square) * base.rest;
    mean += (g - mean) * base.rest;
    mom = mom * base.momentum + g * base.lr / Sqrt(mean_square - mean * mean + base.epsilon);
    var -= mom;
  }
  RmsProp<T> base;
};

// McMahan and others: Ad Click Prediction (2013). `kSqrt`: the power of the learning rate is -1/2.
// A linear term that is not beyond the threshold makes the variable 0. TensorFlow's sparse update
// divides that 0 by the denominator; so a NaN, and a denominator of 0, make NaN there alone.
template <typename T, bool kScaleByLr, bool kSqrt>
struct Ftrl {
  TESSERA_DEVICE_FUNCTION explicit Ftrl(const T* s)
      : lr(s[0]),
        l1(s[1]),
        l2(s[2]),
        power(-s[3]),
        shrinkage(T(2) * s[4]),
        is_sparse(s[5] != T(0)) {}
  TESSERA_DEVICE_FUNCTION T Root(T x) const {
    if constexpr (kSqrt) {
      return Sqrt(x);
    } else {
      return Pow(x, power);
    }
  }
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& accum, T& linear) const {
    const T shrunk = g + shrinkage * var;
    const T sum = accum + g * g;
    const T root = Root(sum);
    const T growth = root - Root(accum);
    T threshold, denominator;
    if constexpr (kScaleByLr) {
      linear += shrunk * lr - growth * var;
      threshold = l1 * lr;
      denominator = root + T(2) * l2 * lr;
    } else {
      linear += shrunk - growth / lr * var;
      threshold = l1;
      denominator = root / lr + T(2) * l2;
    }
    const bool is_beyond = linear > threshold || linear < -threshold;
    const T excess = is_beyond ? linear - Sign(linear) * threshold : linear * T(0);
    var = is_beyond || is_sparse ? -excess / denominator : T(0);
    accum = sum;
  }
  T lr, l1, l2, power, shrinkage;
  bool is_sparse;
};

// Duchi, Singer: Efficient Learning using Forward-Backward Splitting (2009): a gradient step, and
// then the proximal operator of the regularisation.
template <typename T>
TESSERA_DEVICE_FUNCTION T ProximalStep(T var, T step, T lr, T l1, T l2) {
  return SoftThreshold(var - step, l1, lr) / (T(1) + l2 * lr);
}

template <typename T>
struct ProximalGradientDescent {
  TESSERA_DEVICE_FUNCTION explicit ProximalGradientDescent(const T* s)
      : lr(s[0]), l1(s[1]), l2(s[2]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var) const {
    var = ProximalStep(var, g * lr, lr, l1, l2);
  }
  T lr, l1, l2;
};

template <typename T>
struct ProximalAdagrad {
  TESSERA_DEVICE_FUNCTION explicit ProximalAdagrad(const T* s) : lr(s[0]), l1(s[1]), l2(s[2]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& accum) const {
    accum += g * g;
    const T rate = OverRoot(lr, accum, T(0));
    var = ProximalStep(var, g * rate, rate, l1, l2);
  }
  T lr, l1, l2;
};

// Bello and others: Neural Optimizer Search (2017). The step grows where the gradient has the sign
// of its mean.
template <typename T>
struct AddSign {
  TESSERA_DEVICE_FUNCTION explicit AddSign(const T* s)
      : lr(s[0]), alpha(s[1]), decay(s[2]), beta(s[3]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& m) const {
    m = m * beta + g * (T(1) - beta);
    var -= lr * (alpha + decay * SignOfProduct(g, m)) * g;
  }
  TESSERA_DEVICE_FUNCTION static T SignOfProduct(T x, T y) { return Sign(x) * Sign(y); }
  T lr, alpha, decay, beta;
};

template <typename T>
struct PowerSign {
  TESSERA_DEVICE_FUNCTION explicit PowerSign(const T* s)
      : lr(s[0]), grown(Exp(s[1] * s[2])), shrunk(Exp(-s[1] * s[2])), beta(s[3]) {}
  TESSERA_DEVICE_FUNCTION void operator()(T g, T& var, T& m) const {
    m = m * beta + g * (T(1) - beta);
    const T sign = AddSign<T>::SignOfProduct(g, m);
    const T scale = sign > T(0) ? grown : (sign < T(0) ? shrunk : sign + T(1));
    var -= lr * scale * g;
  }
  T lr, grown, shrunk, beta;
};

}  // namespace TESSERA_VECTOR_ABI
}  // namespace tessera::optimizers

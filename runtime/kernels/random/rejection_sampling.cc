#include "runtime/kernels/random/rejection_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers come in pairs, of which the second is used first.
class DoubleStream {
 public:
  explicit DoubleStream(const Philox& generator) : generator_(generator) {}

  double Uniform() {
    if (uniforms_left_ == 0) {
      const Philox::Block x = generator_.Next();
      uniforms_[0] = UnitDouble(x[0], x[1]);
      uniforms_[1] = UnitDouble(x[2], x[3]);
      uniforms_left_ = 2;
    }
    return uniforms_[--uniforms_left_];
  }

  double Normal() {
    if (normals_left_ == 0) {
      const Philox::Block x = generator_.Next();
      const NormalPair<double> pair = NormalDoubles(x[0], x[1], x[2], x[3]);
      normals_[0] = pair.sine;
      normals_[1] = pair.cosine;
      normals_left_ = 2;
    }
    return normals_[--normals_left_];
  }

 private:
  Philox generator_;
  double uniforms_[2], normals_[2];
  int uniforms_left_ = 0, normals_left_ = 0;
};

// The difference between log(k!) and Stirling's approximation of it.
double StirlingTail(double k) {
  static constexpr double kTails[] = {
      0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
      0.00925546218271273, 0.00833056343336287,
  };
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Whether few successes are expected, which are quickest counted one by one.
bool IsInverted(double count, double p) { return !(count * p >= 10); }

// W. Hoermann, The generation of binomial random variates, 1993: algorithm BTRS, transformed
// rejection with squeeze. Requires count * p >= 10 and p <= 0.5.
double BinomialByRejection(double count, double p, DoubleStream& random) {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double r = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double m = std::floor((count + 1) * p);
  while (true) {
    const double u = random.Uniform() - 0.5;
    double v = random.Uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + StirlingTail(m) +
                         StirlingTail(count - m) - StirlingTail(k) - StirlingTail(count - k);
    if (v <= bound) return k;
  }
}

// Adds up the lengths of runs of failures, which are geometrically distributed.
double BinomialByInversion(double count, double p, DoubleStream& random) {
  double trials = 0, successes = 0;
  while (true) {
    trials += std::ceil(std::log(random.Uniform()) / std::log1p(-p));
    // Also ends for the infinity that a zero of the generator gives.
    if (!(trials <= count)) return successes;
    ++successes;
  }
}

}  // namespace

// G. Marsaglia, W. Tsang, A simple method for generating gamma variables, 2000.
double DrawGamma(double alpha, const Philox& generator) {
  DoubleStream random(generator);
  if (alpha == 1) return -std::log1p(-random.Uniform());
  const bool boosted = alpha < 1;
  const double d = alpha + (boosted ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  while (true) {
    const double x = random.Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = random.Uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      const double result = d * v;
      return boosted ? result * std::pow(random.Uniform(), 1 / alpha) : result;
    }
    if (std::isnan(v)) return kNaN;  // for an alpha that is NaN, or far below zero
  }
}

// Small rates: D. Knuth, The Art of Computer Programming, volume 2. Others: W. Hoermann, The
// transformed rejection method for generating Poisson random variables, 1993.
double DrawPoisson(double rate, double largest, const Philox& generator) {
  if (std::isnan(rate)) return kNaN;
  if (rate == kInfinity) return kInfinity;
  DoubleStream random(generator);
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = 1;
    for (double x = 0;; ++x) {
      product *= random.Uniform();
      if (product <= limit && x <= largest) return x;
    }
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  // A rate far above the largest number leaves next to nothing to accept.
  for (int tries = 0; tries < 10000; ++tries) {
    const double u = random.Uniform() - 0.5;
    const double v = random.Uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > largest) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
  return largest;
}

// The inversion rarely adds up more than twice 42 runs for an expectation below 10.
uint64_t BlocksPerBinomial(double count, double p) {
  return IsInverted(count, std::min(p, 1 - p)) ? 42 : kBlocksPerNumber;
}

double DrawBinomial(double count, double p, const Philox& generator) {
  if (std::isnan(p) || !std::isfinite(count)) return kNaN;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  DoubleStream random(generator);
  const double rarer = p <= 0.5 ? p : 1 - p;
  const double drawn = IsInverted(count, rarer) ? BinomialByInversion(count, rarer, random)
                                                : BinomialByRejection(count, rarer, random);
  return p <= 0.5 ? drawn : count - drawn;
}

}  // namespace tessera

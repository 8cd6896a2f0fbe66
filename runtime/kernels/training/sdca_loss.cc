#include "runtime/kernels/training/sdca_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Newton's method doubles the number of good digits in each step; TensorFlow makes as many.
constexpr int kNewtonSteps = 10;
constexpr double kInfeasible = std::numeric_limits<double>::max();

// Losses of two classes, whose labels 0 and 1 stand for -1 and 1.
class TwoClassLoss : public SdcaLoss {
 public:
  absl::Status ConvertLabel(float* label) const final {
    if (*label == 0.0f) {
      *label = -1.0f;
      return absl::OkStatus();
    }
    if (*label == 1.0f) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Only labels of 0.0 or 1.0 are supported right now. "
                     "Found example with label: ",
                     *label));
  }

 protected:
  // Returns the nearest dual variable for which label * dual is in [0, 1].
  static double Feasible(double dual, double label) {
    if (label * dual < 0) return 0;
    return label * dual > 1 ? label : dual;
  }
};

class LogisticLoss final : public TwoClassLoss {
 public:
  // The dual variable is (1 + tanh(x)) / 2 / label, so that x has no bounds.
  double UpdatedDual(double label, double dual, double wx, double curvature) const override {
    double x = 0;
    for (int i = 0; i < kNewtonSteps; ++i) {
      const double t = std::tanh(x);
      const double value = -2 * label * x - wx - curvature * (0.5 * (1 + t) / label - dual);
      const double slope = -2 * label - curvature * (1 - t * t) * 0.5 / label;
      x -= value / slope;
    }
    return 0.5 * (1 + std::tanh(x)) / label;
  }
  double DualLoss(double dual, double label, double weight) const override {
    const double a = dual * label, b = 1 - a;
    return (a * (a > 0 ? std::log(a) : 0) + b * (b > 0 ? std::log(b) : 0)) * weight;
  }
  double PrimalLoss(double wx, double label, double weight) const override {
    const double margin = label * wx;
    // The exponent is never positive, so that nothing overflows.
    if (margin > 0) return std::log1p(std::exp(-margin)) * weight;
    return (std::log1p(std::exp(margin)) - margin) * weight;
  }
  double PrimalDerivative(double wx, double label) const override {
    const double margin = label * wx;
    const double term =
        margin > 0 ? std::exp(-margin) / (1 + std::exp(-margin)) : 1 / (1 + std::exp(margin));
    return -term * label;
  }
  double Smoothness() const override { return 4; }
};

class SquaredLoss final : public SdcaLoss {
 public:
  double UpdatedDual(double label, double dual, double wx, double curvature) const override {
    return dual + (label - dual - wx) / (1 + curvature);
  }
  double DualLoss(double dual, double label, double weight) const override {
    return dual * (0.5 * dual - label) * weight;
  }
  double PrimalLoss(double wx, double label, double weight) const override {
    const double error = wx - label;
    return error * error * weight * 0.5;
  }
  double PrimalDerivative(double wx, double label) const override { return wx - label; }
  double Smoothness() const override { return 1; }
  absl::Status ConvertLabel(float*) const override { return absl::OkStatus(); }
};

class HingeLoss final : public TwoClassLoss {
 public:
  double UpdatedDual(double label, double dual, double wx, double curvature) const override {
    return Feasible(dual + (label - wx) / curvature, label);
  }
  double DualLoss(double dual, double label, double weight) const override {
    const double a = dual * label;
    return a < 0 || a > 1 ? kInfeasible : -a * weight;
  }
  double PrimalLoss(double wx, double label, double weight) const override {
    return std::max(0.0, 1 - label * wx) * weight;
  }
  double PrimalDerivative(double wx, double label) const override {
    return label * wx < 1 ? -label : 0;
  }
  double Smoothness() const override { return 0; }
};

// A hinge whose corner is a parabola over a margin of 1, as in TensorFlow.
class SmoothHingeLoss final : public TwoClassLoss {
 public:
  double UpdatedDual(double label, double dual, double wx, double curvature) const override {
    return Feasible(dual + (label - wx - dual) / (curvature + 1), label);
  }
  double DualLoss(double dual, double label, double weight) const override {
    const double a = dual * label;
    return a < 0 || a > 1 ? kInfeasible : (-a + 0.5 * dual * dual) * weight;
  }
  double PrimalLoss(double wx, double label, double weight) const override {
    const double margin = label * wx;
    if (margin >= 1) return 0;
    if (margin <= 0) return (0.5 - margin) * weight;
    return (1 - margin) * (1 - margin) * weight * 0.5;
  }
  double PrimalDerivative(double wx, double label) const override {
    const double margin = label * wx;
    if (margin >= 1) return 0;
    return margin <= 0 ? -label : wx - label;
  }
  double Smoothness() const override { return 1; }
};

class PoissonLoss final : public SdcaLoss {
 public:
  // The dual variable is label - exp(x).
  double UpdatedDual(double label, double dual, double wx, double curvature) const override {
    const double rest = label - dual;
    double x = rest > 0 ? std::log(rest) : 0;
    for (int i = 0; i < kNewtonSteps; ++i) {
      const double e = std::exp(x);
      x -= (x - wx - curvature * (rest - e)) / (1 + curvature * e);
    }
    return label - std::exp(x);
  }
  double DualLoss(double dual, double label, double weight) const override {
    const double rest = label - dual;
    if (rest == 0) return 0;
    return rest < 0 ? kInfeasible : rest * (std::log(rest) - 1) * weight;
  }
  double PrimalLoss(double wx, double label, double weight) const override {
    return (std::exp(wx) - wx * label) * weight;
  }
  double PrimalDerivative(double wx, double label) const override { return std::exp(wx) - label; }
  double Smoothness() const override { return 1; }
  absl::Status ConvertLabel(float* label) const override {
    if (!(*label < 0)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Only non-negative labels can be used with the Poisson log loss. "
                     "Found example with label: ",
                     *label));
  }
};

}  // namespace

const SdcaLoss* SdcaLoss::Find(absl::string_view loss_type) {
  static const LogisticLoss logistic;
  static const SquaredLoss squared;
  static const HingeLoss hinge;
  static const SmoothHingeLoss smooth_hinge;
  static const PoissonLoss poisson;
  if (loss_type == "logistic_loss") return &logistic;
  if (loss_type == "squared_loss") return &squared;
  if (loss_type == "hinge_loss") return &hinge;
  if (loss_type == "smooth_hinge_loss") return &smooth_hinge;
  if (loss_type == "poisson_loss") return &poisson;
  return nullptr;
}

}  // namespace tessera

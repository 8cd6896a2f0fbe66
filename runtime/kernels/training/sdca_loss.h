// The losses that stochastic dual coordinate ascent minimises, one example at a time.
//
// S. Shalev-Shwartz, T. Zhang, Stochastic Dual Coordinate Ascent Methods for Regularized Loss
// Minimization, JMLR 14, 2013; C. Ma et al., Adding vs. Averaging in Distributed Primal-Dual
// Optimization, ICML 2015.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Immutable; thread-safe. `label` is what ConvertLabel() gave, `wx` the model's answer for the
// example, and `weight` the example's.
class SdcaLoss {
 public:
  virtual ~SdcaLoss() = default;

  // Returns the loss that an op's attribute `loss_type` names, or null for another name. The loss
  // lives as long as the process.
  static const SdcaLoss* Find(absl::string_view loss_type);

  // Returns the dual variable that maximises the dual objective while those of all other examples
  // stay. `curvature` is the weighted squared norm of the example over the L2 regularisation, times
  // the number of partitions that update the model at once.
  virtual double UpdatedDual(double label, double dual, double wx, double curvature) const = 0;
  virtual double DualLoss(double dual, double label, double weight) const = 0;
  virtual double PrimalLoss(double wx, double label, double weight) const = 0;
  // Returns the derivative of the primal loss by wx, of an example of weight 1.
  virtual double PrimalDerivative(double wx, double label) const = 0;
  // Returns the inverse of the Lipschitz constant of that derivative.
  virtual double Smoothness() const = 0;
  // Makes the label that the loss is defined for from one in the data, such as -1 from 0.
  // Errors: INVALID_ARGUMENT for a label that the loss does not know.
  virtual absl::Status ConvertLabel(float* label) const = 0;
};

}  // namespace tessera

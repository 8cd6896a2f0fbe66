// Streaming metrics of an evaluation, with the numbers of tf.keras.metrics.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

namespace training {
class MetricSpec;
}  // namespace training

// A number that is gathered from one batch after the other.
//
//   ASSIGN_OR_RETURN(auto metric, Metric::Make(spec));
//   for each batch: RETURN_IF_ERROR(metric->Update({.output = &logits, .label = &labels}));
//   LOG(metric->Result());
//   metric->Reset();  // before the next evaluation
//
// Used by one thread at a time.
class Metric {
 public:
  // One batch. Tensors are in host memory. All but `output` may be null where the metric needs
  // none.
  struct Batch {
    // The output of the model, of float, double, bfloat16 or half. For the loss: the loss of the
    // batch, a scalar, or one loss for each row.
    const Tensor* output = nullptr;
    // The label: the classes as integers of one rank less than `output`, or as large an array as
    // `output`. The loss has none.
    const Tensor* label = nullptr;
    // The weight of each row, or of each element; null: all are 1. For a scalar loss: how many rows
    // it is the mean of.
    const Tensor* weight = nullptr;
  };

  // Errors: INVALID_ARGUMENT for an unknown type, or for options that the type does not have.
  static absl::StatusOr<std::unique_ptr<Metric>> Make(const training::MetricSpec& spec);
  virtual ~Metric() = default;

  // Errors: INVALID_ARGUMENT for shapes or dtypes that do not fit; for AUC, outputs outside [0, 1];
  // nothing is gathered then.
  virtual absl::Status Update(const Batch& batch) = 0;
  // Returns the value over all batches since the last Reset(); 0 if there was none.
  virtual double Result() const = 0;
  virtual void Reset() = 0;

  // True if a greater value is better.
  virtual bool higher_is_better() const { return true; }
  // False for the loss.
  virtual bool needs_label() const { return true; }
};

}  // namespace tessera

// Trained variables that nothing but rounding moves.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "rapidjson/document.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The trained variables of a recorded training whose gradients are zero but for rounding: a bias
// before batch normalization, or that of an attention's keys. An optimizer that divides gradients
// by their size moves such a variable by what rounding happened to give, so that TensorFlow itself
// has other values after some steps on another machine. The loss does not depend on them.
//
// They are those with a gradient in grads_0.pb that is not zero, and has no element over 1e-6 of
// the largest of all. Zero is no rounding: it may be that of a layer behind weights that begin with
// zero.
class RoundingVariables {
 public:
  // Finds them in the folder of a training. A TF2 graph names its trained variables by
  // info.trainable; one without it has none that are known.
  static absl::StatusOr<RoundingVariables> Find(const std::string& directory,
                                                const rapidjson::Document& info);

  const std::set<std::string>& names() const { return names_; }

  // Does what CheckTensor() does, but of these variables compares dtype and shape alone, and checks
  // that all elements are finite. `key` is a variable's name, or its path in a checkpoint, which
  // ends with the name.
  absl::Status Check(const std::string& key, const Tensor& got, const Tensor& want,
                     double tolerance) const;
  // Does what CheckTensor() does with a gradient that grads_0.pb names `answer`. Of these variables
  // it compares dtype and shape alone, and checks that the gradient is as small as the recorded one
  // had to be.
  absl::Status CheckGradient(const std::string& answer, const Tensor& got, const Tensor& want,
                             double tolerance) const;

 private:
  std::set<std::string> names_;
  std::set<std::string> answers_;  // the names of their gradients
  double limit_ = 0;               // above all elements of these
};

}  // namespace tessera

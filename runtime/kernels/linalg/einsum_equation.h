// Equations of Einsum: "BTNH,BSNH->BNTS", "...ij,jk->...ik".
#pragma once

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// Labels are small numbers. Those of an ellipsis are aligned at the last broadcast dimension.
using Labels = absl::InlinedVector<int, 8>;

// A parsed equation. Immutable.
class EinsumEquation {
 public:
  // Errors: INVALID_ARGUMENT naming what is malformed: no "->", more than two inputs, a character
  // that is no letter, two ellipses in one operand, an output label that no input has.
  static absl::StatusOr<EinsumEquation> Parse(const std::string& text, int num_inputs);

  // The labels of each input's and of the output's dimensions for these ranks, broadcast labels
  // spelled out; labels are < *num_labels.
  // Errors: INVALID_ARGUMENT if a rank does not fit.
  absl::Status Resolve(const std::vector<int>& ranks, std::vector<Labels>* inputs, Labels* output,
                       int* num_labels) const;

  // How many labels are letters; those of ellipses come after.
  int num_named() const { return num_named_; }

 private:
  static constexpr int kEllipsis = -1;
  std::vector<Labels> inputs_;
  Labels output_;
  int num_named_ = 0;
};

}  // namespace tessera

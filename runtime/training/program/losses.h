// Losses that training adds to a graph, by the types of training::LossSpec.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/training/gradients/graph_builder.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// Returns the dtype that the labels of a loss have: int64 for classes, else that of the output.
DType LabelDType(const training::LossSpec& spec, DType output);

// Errors: INVALID_ARGUMENT for an unknown type, with the nearest one, for a missing output, for
// missing labels, and for labels or weights that the type does not take.
absl::Status CheckLoss(const training::LossSpec& spec);

// Adds the loss of a batch, a scalar: the mean over all elements, or with weights, of which there
// is one for each row, the weighted sum divided by the number of elements whose weight is not zero,
// which is the default reduction of tf.compat.v1.losses. `labels` have as many elements as the
// output, or one for each row of logits for classes; they may be of another numeric dtype.
// `weights` may be empty, and so may the labels of the loss "graph". Without the term of
// LossSpec::l2. Requires a spec with which CheckLoss() finds nothing wrong. Errors:
// INVALID_ARGUMENT for an output of integers.
absl::StatusOr<Expr> AddLoss(const training::LossSpec& spec, GraphBuilder& build,
                             const Expr& output, const Expr& labels, const Expr& weights);

}  // namespace tessera

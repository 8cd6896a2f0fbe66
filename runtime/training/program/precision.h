// Mixed precision: matrix products and convolutions in 16 bits, everything else as it is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Returns the dtype of products that a job's precision names: float32 (or empty), bfloat16 or
// float16. Errors: INVALID_ARGUMENT, with the nearest name, for another.
absl::StatusOr<DType> ProductDType(const std::string& precision);

// Lets the float products of a graph, MatMul, BatchMatMulV2 and Conv2D outside of functions, take
// and give `dtype`, between casts. Names of tensors stay. Variables stay float, and so do their
// gradients, since those of the casts convert them.
absl::Status UseProductsOf(DType dtype, Graph* graph);

// Checks the options of a graph that has its own gradients, which messages call `what`. Errors:
// UNIMPLEMENTED for a precision but float32, for loss scaling, and for gradients that are added up.
absl::Status CheckOwnGradients(const ProgramOptions& options, absl::string_view what);

}  // namespace tessera

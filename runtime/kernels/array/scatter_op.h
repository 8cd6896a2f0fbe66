// How an op that scatters combines updates with what there is.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/kernels/primitives/scatter.h"

namespace tessera {

// Reads the operation from the last word of an op's name: "ResourceScatterNdAdd",
// "TensorScatterUpdate".
ScatterOp ScatterOpFromName(absl::string_view op_name);

}  // namespace tessera

#include "runtime/kernels/array/scatter_op.h"

#include "absl/strings/match.h"

namespace tessera {

ScatterOp ScatterOpFromName(absl::string_view op_name) {
  if (absl::EndsWith(op_name, "Add")) return ScatterOp::kAdd;
  if (absl::EndsWith(op_name, "Sub")) return ScatterOp::kSub;
  if (absl::EndsWith(op_name, "Mul")) return ScatterOp::kMul;
  if (absl::EndsWith(op_name, "Div")) return ScatterOp::kDiv;
  if (absl::EndsWith(op_name, "Min")) return ScatterOp::kMin;
  if (absl::EndsWith(op_name, "Max")) return ScatterOp::kMax;
  return ScatterOp::kUpdate;
}

}  // namespace tessera

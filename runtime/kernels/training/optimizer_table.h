// The table of the ops that are optimizers, with the names of their scalar inputs.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/optimizer_update.h"

namespace tessera {

// The values that a scalar input may have.
enum class ScalarLimit : uint8_t { kAny, kPositive, kNotNegative, kNotPositive };

struct OptimizerScalar {
  absl::string_view name;  // of the input
  ScalarLimit limit = ScalarLimit::kAny;
};

// One optimizer. Its ops are Apply<name>, SparseApply<name>, ResourceApply<name> and
// ResourceSparseApply<name>, as far as TensorFlow has them.
struct OptimizerOp {
  absl::string_view name;  // "AdagradV2"
  OptimizerRule rule;
  // The inputs that become OptimizerStep::scalars, in the order of the rule. The scalars after the
  // last of them are zero.
  absl::Span<const OptimizerScalar> scalars;
  // The boolean attribute that is OptimizerStep::variant. Empty if there is none.
  absl::string_view variant_attr = {};
  // The limits hold for the sparse ops alone.
  bool limits_sparse_only = false;
};

// Returns the optimizer of an op such as "ResourceSparseApplyAdagradV2"; null for other ops.
const OptimizerOp* FindOptimizer(absl::string_view op);

}  // namespace tessera

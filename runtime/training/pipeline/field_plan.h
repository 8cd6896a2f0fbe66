// One field of a pipeline's specification, checked and completed.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/training/pipeline/pipeline_plan.h"

namespace tessera {

// Errors: INVALID_ARGUMENT with the name of the field and the remedy.
absl::StatusOr<FieldPlan> PlanField(const training::FieldSpec& spec, RecordFormat format);

}  // namespace tessera

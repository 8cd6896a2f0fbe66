// Learning-rate schedules, as nodes of the graph.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/training/gradients/graph_builder.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// Checks a schedule of a job of `steps` steps, or 0. Errors: INVALID_ARGUMENT for an unknown type,
// with the nearest one, and for parameters that the type needs or does not allow.
absl::Status CheckSchedule(const training::ScheduleSpec& spec, int64_t steps);

// Adds the learning rate, a float scalar, of the step `global_step`, an int64 scalar that is 0 in
// the first step. `base` is the rate from which the schedule starts, `steps` the number of steps of
// the job, or 0. Formulas are those of tf.compat.v1.train; after a warm-up, all but `piecewise`
// count the steps since its end. Errors: those of CheckSchedule().
absl::StatusOr<Expr> AddLearningRate(const training::ScheduleSpec& spec, double base, int64_t steps,
                                     GraphBuilder& build, const Expr& global_step);

}  // namespace tessera

// The settings of a job by which TensorBoard compares it with others.
#pragma once

#include <map>
#include <string>

#include "runtime/summary/summary_values.h"

namespace tessera {

namespace training {
class TrainingJob;
}  // namespace training

// Returns what the job sets of its batches, length, precision and seed, and of the loss, the
// optimizer, the schedule and the clipping of its graph, by the paths of the settings:
// "graph.optimizer.learning_rate". Lists are left out.
std::map<std::string, HyperParameter> HyperParametersOf(const training::TrainingJob& job);

}  // namespace tessera

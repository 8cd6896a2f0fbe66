// Reads the YAML file of a training job, and the settings of --set over it.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "serving/server/config_report.h"
#include "tessera/training/job.pb.h"

namespace tessera::serving {

// Fills *job from the file at `path`, whose keys are the fields of tessera.training.TrainingJob.
// Then applies `settings`, "KEY=VALUE" each, in their order. A key is a path of fields, such as
// "hooks.checkpoint.every_steps", "eval.metrics[0].k" or "graph.outputs.logits"; the value is YAML
// and takes the place of what the file has there. At last checks the whole by CheckJob().
//
// Adds an error to the report for everything that is wrong, with file and line; an error in a
// setting has the key "set KEY" and no file.
void ReadTrainingJob(const std::string& path, absl::Span<const std::string> settings,
                     training::TrainingJob* job, ConfigReport* report);

}  // namespace tessera::serving

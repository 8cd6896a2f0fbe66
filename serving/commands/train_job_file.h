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
// and takes the place of what the file has there. "KEY=" without a value takes the setting out, so
// that its default counts. At last checks the whole by CheckJob().
//
// Adds an error to the report for everything that is wrong, with file and line; an error in a
// setting has the key "set KEY" and no file.
void ReadTrainingJob(const std::string& path, absl::Span<const std::string> settings,
                     training::TrainingJob* job, ConfigReport* report);

// Adds the error of a job that could be read but does not fit its graph, its data or this machine.
// Its place is that of the setting which the message names first, such as "graph.loss.type is ...",
// "graph: graph.loss.type ..." or "data.train: fields[0]: ...": the line of the file, or the key
// "set KEY" if one of `settings` gave it. The finding has the line of the nearest outer block that
// is in the file, and no line if the message names no setting.
void AddJobError(const std::string& path, absl::Span<const std::string> settings,
                 const absl::Status& status, ConfigReport* report);

}  // namespace tessera::serving

// The sources of training programs, one a file. Each takes a spec whose `source` is of its kind;
// the results and errors are those of MakeTrainingProgram().
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/training/program/training_program.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace tessera {

// Returns the path of a file that a spec names.
std::string ResolvePath(const ProgramOptions& options, const std::string& path);

// A SavedModel of TF2 trains by its signatures.
absl::StatusOr<TrainingProgram> MakeSavedModelProgram(const training::GraphSpec& spec,
                                                      const ProgramOptions& options);

// A MetaGraphDef of TF1 with a train op in it.
absl::StatusOr<TrainingProgram> MakeMetaGraphProgram(const training::GraphSpec& spec,
                                                     const ProgramOptions& options,
                                                     const tensorflow::MetaGraphDef& meta_graph);

// A graph without a train op: loss, gradients and optimizer are added. A GraphDef is a MetaGraphDef
// without collections.
absl::StatusOr<TrainingProgram> MakeForwardProgram(const training::GraphSpec& spec,
                                                   const ProgramOptions& options,
                                                   const tensorflow::MetaGraphDef& meta_graph);

}  // namespace tessera

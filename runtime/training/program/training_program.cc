#include "runtime/training/program/training_program.h"

#include <filesystem>

#include "runtime/training/program/program_sources.h"

namespace tessera {

std::string ResolvePath(const ProgramOptions& options, const std::string& path) {
  return (std::filesystem::path(options.base_folder) / path).string();
}

absl::StatusOr<TrainingProgram> MakeTrainingProgram(const training::GraphSpec& spec,
                                                    const ProgramOptions& options) {
  switch (spec.source_case()) {
    case training::GraphSpec::kSavedModel:
      return MakeSavedModelProgram(spec, options);
    case training::GraphSpec::kMetaGraph:
    case training::GraphSpec::kForward:
      return absl::UnimplementedError("only graph.saved_model is known yet");
    case training::GraphSpec::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "the job says no graph: set graph.saved_model, graph.meta_graph or graph.forward");
}

}  // namespace tessera

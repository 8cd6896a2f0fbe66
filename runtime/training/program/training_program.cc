#include "runtime/training/program/training_program.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/proto_text.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/training/gradients/symbolic_gradient.h"
#include "runtime/training/program/graph_program.h"
#include "runtime/training/program/program_sources.h"
#include "runtime/training/program/random_seeds.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

// Reads a message, as text from a file whose name ends as those of text do.
absl::Status ReadProto(const std::string& path, google::protobuf::Message* message) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (absl::EndsWith(path, ".pbtxt") || absl::EndsWith(path, ".textproto")) {
    return Annotate(ParseProtoText(bytes, message), absl::StrCat(path, ": "));
  }
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " is no ", message->GetTypeName(), "; a file of text must end in .pbtxt"));
}

absl::StatusOr<TrainingProgram> MakeGraphProgram(const training::GraphSpec& spec,
                                                 const ProgramOptions& options) {
  tensorflow::MetaGraphDef meta_graph;
  if (spec.has_meta_graph()) {
    RETURN_IF_ERROR(Annotate(ReadProto(ResolvePath(options, spec.meta_graph()), &meta_graph),
                             "graph.meta_graph: "));
  } else {
    RETURN_IF_ERROR(
        Annotate(ReadProto(ResolvePath(options, spec.forward()), meta_graph.mutable_graph_def()),
                 "graph.forward: "));
  }
  ExpandSymbolicGradients(nullptr, meta_graph.mutable_graph_def());
  if (options.seed) SeedRandomOps(*options.seed, meta_graph.mutable_graph_def());
  ASSIGN_OR_RETURN(const std::vector<std::string> train_ops, FindTrainOps(spec, meta_graph));
  absl::StatusOr<TrainingProgram> program = train_ops.empty()
                                                ? MakeForwardProgram(spec, options, meta_graph)
                                                : MakeMetaGraphProgram(spec, options, meta_graph);
  if (!program.ok()) return program;
  program->asset_paths = NamesInCollection(meta_graph, "asset_filepaths");
  // Checkpoints keep no tables.
  std::vector<std::string>& tables = program->table_initializers;
  for (const std::string& name : NamesInCollection(meta_graph, "table_initializer")) {
    tables.push_back(NodeOf(name));
  }
  if (!tables.empty()) RETURN_IF_ERROR(program->session->Run({}, {}, tables, nullptr));
  return program;
}

}  // namespace

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
      return MakeGraphProgram(spec, options);
    case training::GraphSpec::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "the job says no graph: set graph.saved_model, graph.meta_graph or graph.forward");
}

}  // namespace tessera

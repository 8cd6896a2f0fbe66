#include "runtime/training/job/model_export.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/resource_names.h"
#include "runtime/session/saved_model_writer.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/version_record.h"
#include "runtime/training/job/writable_folder.h"
#include "runtime/training/program/training_variables.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr char kDefaultSignature[] = "serving_default";

class ModelExport {
 public:
  explicit ModelExport(const PreparedJob& prepared)
      : prepared_(prepared),
        program_(*prepared.program),
        spec_(prepared.job.export_()),
        base_(prepared.Resolve(spec_.base_path())) {}

  absl::Status Check() const {
    if (WritesGraph()) RETURN_IF_ERROR(Annotate(MakeSignature().status(), "export: "));
    RETURN_IF_ERROR(Annotate(CheckAssets(), "export: assets: "));
    RETURN_IF_ERROR(CheckVersion());
    return WithFailure(Annotate(CheckWritableFolder(base_), "export: base_path: "),
                       RunFailure::kWrite);
  }

  absl::StatusOr<ExportResult> Run(const RunFolder& folder, const Evaluation& evaluation) {
    const absl::StatusOr<std::string> run_id = folder.Id();
    if (!run_id.ok()) return Written(run_id.status());
    std::optional<VersionRecord> served;  // that of the highest version
    int64_t highest = 0;
    for (const auto& [version, path] : ListVersions(base_)) {
      served = ReadVersionRecord(path);
      if (served && served->run_id == *run_id && served->step == evaluation.step) {
        return ExportResult{.refusal = absl::StrCat("version ", version, " is this step already")};
      }
      highest = version;
    }
    if (std::string refusal = Refusal(evaluation, highest, served); !refusal.empty()) {
      return ExportResult{.refusal = std::move(refusal)};
    }
    if (spec_.version() > 0 && ListVersions(base_).contains(spec_.version())) {
      return VersionIsTaken();
    }
    // No server takes a folder whose name is no number, and no other run this one. What this run
    // left there before it died is replaced.
    const std::string temporary = JoinPath(base_, absl::StrCat("exporting-", *run_id));
    std::error_code ignored;
    std::filesystem::remove_all(temporary, ignored);
    RETURN_IF_ERROR(Written(CreateDirectories(base_)));
    const absl::Status written = WriteVersion(temporary, {.run = folder.path(),
                                                          .run_id = *run_id,
                                                          .step = evaluation.step,
                                                          .metrics = evaluation.values});
    absl::StatusOr<ExportResult> published = written.ok() ? Publish(temporary) : written;
    if (!published.ok()) std::filesystem::remove_all(temporary, ignored);
    return published;
  }

 private:
  static absl::Status Written(const absl::Status& status) {
    return WithFailure(Annotate(status, "export: "), RunFailure::kWrite);
  }

  std::string VersionPath(int64_t version) const { return JoinPath(base_, absl::StrCat(version)); }

  absl::Status VersionIsTaken() const {
    return absl::AlreadyExistsError(
        absl::StrCat("export.version: '", VersionPath(spec_.version()), "' is there already"));
  }

  // Renames a version that is complete to the number that the job gives, or else to the first one
  // above the highest that no other run has taken meanwhile.
  absl::StatusOr<ExportResult> Publish(const std::string& temporary) const {
    const std::map<int64_t, std::string> versions = ListVersions(base_);
    const int64_t highest = versions.empty() ? 0 : versions.rbegin()->first;
    if (spec_.version() == 0 && highest == std::numeric_limits<int64_t>::max()) {
      return absl::OutOfRangeError(
          absl::StrCat("export: no number is above that of '", versions.rbegin()->second,
                       "'; move that version away, or name another by export.version"));
    }
    const int64_t next = highest + 1;
    for (int64_t version = spec_.version() > 0 ? spec_.version() : next;; ++version) {
      const std::string path = VersionPath(version);
      const absl::Status renamed = RenameFile(temporary, path);
      if (renamed.ok()) return ExportResult{.path = path};
      if (!FileExists(path)) return Written(renamed);
      if (spec_.version() > 0) return VersionIsTaken();
    }
  }

  // A run that is started again after its end may find its own version.
  absl::Status CheckVersion() const {
    if (spec_.version() == 0) return absl::OkStatus();
    const std::map<int64_t, std::string> versions = ListVersions(base_);
    const auto taken = versions.find(spec_.version());
    if (taken == versions.end()) return absl::OkStatus();
    const auto record = ReadVersionRecord(taken->second);
    const bool begins_anew = prepared_.job.has_resume() && !prepared_.job.resume();
    const absl::StatusOr<std::string> run_id = RunIdIn(prepared_.RunPath());
    const bool is_own = !begins_anew && record && run_id.ok() && record->run_id == *run_id;
    return is_own ? absl::OkStatus() : VersionIsTaken();
  }

  absl::Status CheckAssets() const {
    std::set<std::string> names;
    for (const std::string& asset : spec_.assets()) {
      const std::filesystem::path path = prepared_.Resolve(asset);
      RETURN_IF_ERROR(ReadFile(path).status());
      if (!names.insert(path.filename().string()).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("two files have the name '", path.filename().string(), "'"));
      }
    }
    return absl::OkStatus();
  }

  // Returns why the metric is not good enough; empty if it is.
  std::string Refusal(const Evaluation& evaluation, int64_t highest,
                      const std::optional<VersionRecord>& served) const {
    const std::string& metric = spec_.metric();
    if (metric.empty()) return "";
    const double value = evaluation.values.at(metric);
    const std::string is = absl::StrCat("'", metric, "' is ", value);
    // A value that is no number passes neither.
    if (spec_.has_at_least() && !(value >= spec_.at_least())) {
      return absl::StrCat(is, ", below ", spec_.at_least());
    }
    if (spec_.has_at_most() && !(value <= spec_.at_most())) {
      return absl::StrCat(is, ", above ", spec_.at_most());
    }
    if (!spec_.beats_served() || !served) return "";
    const auto other = served->metrics.find(metric);
    if (other == served->metrics.end()) return "";
    const bool is_better =
        prepared_.evaluator->HigherIsBetter(metric) ? value > other->second : value < other->second;
    if (is_better || (std::isnan(other->second) && !std::isnan(value))) return "";
    return absl::StrCat(is, ", no better than the ", other->second, " of version ", highest);
  }

  bool WritesGraph() const { return !spec_.weights_only() && program_.saved_model.empty(); }

  absl::Status WriteVersion(const std::string& folder, const VersionRecord& record) const {
    std::vector<SavedTensor> variables;
    ASSIGN_OR_RETURN(auto state, ReadState(program_));
    for (auto& [key, value] : state) variables.push_back({key, std::move(value)});
    if (WritesGraph()) {
      RETURN_IF_ERROR(WriteGraph(folder, std::move(variables)));
    } else if (spec_.weights_only()) {
      RETURN_IF_ERROR(Written(WriteWeights(folder, variables)));
    } else {
      RETURN_IF_ERROR(CopyModel(folder, std::move(variables)));
    }
    RETURN_IF_ERROR(Written(CopyAssets(folder)));
    return Written(WriteVersionRecord(folder, record));
  }

  // The parts of partitioned variables by their own keys.
  std::map<std::string, const StateVariable*> Parts() const {
    std::map<std::string, const StateVariable*> parts;
    for (const StateVariable& variable : program_.variables) {
      if (!variable.slice.empty()) parts[variable.key] = &variable;
    }
    return parts;
  }

  // The graph that the weights are loaded on restores each part of a partitioned variable by its
  // own key, if this program exported it, or as a slice, if TensorFlow did: there are both.
  absl::Status WriteWeights(const std::string& folder,
                            const std::vector<SavedTensor>& variables) const {
    const std::map<std::string, const StateVariable*> parts = Parts();
    ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(VariablesPrefix(folder)));
    for (const auto& each : variables) {
      RETURN_IF_ERROR(writer.Add(each.key, each.tensor));
      const auto part = parts.find(each.key);
      if (part == parts.end()) continue;
      ASSIGN_OR_RETURN(const ShapeAndSlice place, ShapeAndSlice::Parse(part->second->slice));
      RETURN_IF_ERROR(
          writer.AddSlice(part->second->whole_key, place.shape, place.slice, each.tensor));
    }
    if (!program_.object_graph.empty()) {
      RETURN_IF_ERROR(writer.Add("_CHECKPOINTABLE_OBJECT_GRAPH",
                                 Tensor::Scalar(std::string(program_.object_graph))));
    }
    return writer.Finish();
  }

  // A copy of the SavedModel that was trained, with its variables as they are now.
  absl::Status CopyModel(const std::string& folder, std::vector<SavedTensor> variables) const {
    ASSIGN_OR_RETURN(const auto reader,
                     CheckpointReader::Open(VariablesPrefix(program_.saved_model)));
    const std::map<std::string, const StateVariable*> parts = Parts();
    for (SavedTensor& each : variables) {
      const auto part = parts.find(each.key);
      if (part == parts.end()) continue;
      each.key = part->second->whole_key;
      each.slice = part->second->slice;
    }
    std::erase_if(variables, [&](const SavedTensor& each) { return !reader->Contains(each.key); });
    return Written(CopySavedModel(program_.saved_model, folder, variables));
  }

  // The graph that was trained, with the signature that the job asks for.
  absl::Status WriteGraph(const std::string& folder, std::vector<SavedTensor> state) const {
    const Graph& graph = *program_.graph;
    MetaGraphContents contents;
    std::map<std::string, const StateVariable*> by_key;
    for (const StateVariable& variable : program_.variables) {
      if (graph.FindNode(variable.name) == nullptr) continue;  // a slot of the optimizer
      contents.variables.push_back({.node = variable.name, .key = variable.key});
      by_key[variable.key] = &variable;
    }
    std::erase_if(state, [&](const SavedTensor& each) { return !by_key.contains(each.key); });
    ASSIGN_OR_RETURN(Signature signature, MakeSignature());
    const std::string name = spec_.signature().empty() ? kDefaultSignature : spec_.signature();
    contents.signatures[name] = std::move(signature);
    const std::set<std::string> asset_paths(program_.asset_paths.begin(),
                                            program_.asset_paths.end());
    for (const std::string& tensor : asset_paths) {
      const absl::StatusOr<Endpoint> path = graph.FindEndpoint(tensor);
      if (!path.ok() || !path->node->IsOp("Const")) continue;
      ASSIGN_OR_RETURN(const Tensor value, path->node->attr<Tensor>("value"));
      if (value.dtype() != DType::kString || value.num_elements() != 1) continue;
      contents.assets.push_back({.file = value.data<std::string>()[0], .tensor = tensor});
    }
    const std::unique_ptr<Graph> exported = graph.Clone();
    if (!program_.table_initializers.empty()) {
      ASSIGN_OR_RETURN(Node* const init,
                       exported->AddNode(exported->UniqueName("export/init_tables"), "NoOp", {}));
      contents.init_node = init->name();
      for (const std::string& name : program_.table_initializers) {
        exported->AddControlEdge(exported->FindNode(name), init);
      }
    }
    tensorflow::GraphDef graph_def;
    ExportGraph(*exported, &graph_def);
    ASSIGN_OR_RETURN(const tensorflow::MetaGraphDef meta_graph, MakeMetaGraph(graph_def, contents));
    return Written(WriteSavedModel(folder, meta_graph, contents.assets, state));
  }

  // The signature that the job asks for.
  absl::StatusOr<Signature> MakeSignature() const {
    Signature signature;
    for (const auto& [alias, tensor] : spec_.inputs()) {
      ASSIGN_OR_RETURN(signature.inputs[alias], Describe(tensor, "inputs"));
    }
    for (const auto& [alias, tensor] : spec_.outputs()) {
      ASSIGN_OR_RETURN(signature.outputs[alias], Describe(tensor, "outputs"));
    }
    RETURN_IF_ERROR(CheckFed(signature));
    return signature;
  }

  // Errors: INVALID_ARGUMENT if an output needs a placeholder that is no input of the signature, or
  // a variable that the run does not keep, so that no request could be answered.
  absl::Status CheckFed(const Signature& signature) const {
    const Graph& graph = *program_.graph;
    std::set<std::string> kept;
    for (const StateVariable& variable : program_.variables) {
      const Node* const node = graph.FindNode(variable.name);
      if (node != nullptr) kept.insert(ResourceNames(*node).front());
    }
    std::vector<bool> is_seen(graph.id_bound(), false);
    for (const auto& [alias, input] : signature.inputs) {
      is_seen[graph.FindEndpoint(input.tensor_name)->node->id()] = true;
    }
    std::vector<const Node*> needed;
    for (const auto& [alias, output] : signature.outputs) {
      needed.push_back(graph.FindEndpoint(output.tensor_name)->node);
    }
    while (!needed.empty()) {
      const Node* const node = needed.back();
      needed.pop_back();
      if (is_seen[node->id()]) continue;
      is_seen[node->id()] = true;
      if (node->IsOp("Placeholder")) {
        return absl::InvalidArgumentError(
            absl::StrCat("inputs: the outputs need '", node->name(),
                         "', which no input of export.inputs feeds; add NAME: \"", node->name(),
                         ":0\", or give it a value in graph.eval_values"));
      }
      if (IsVariable(*node) && !kept.contains(ResourceNames(*node).front())) {
        return absl::InvalidArgumentError(
            absl::StrCat("outputs: they need the variable '", node->name(),
                         "', which neither the training nor graph.outputs reach, so that it has no "
                         "value; name the outputs in graph.outputs"));
      }
      for (const Endpoint& input : node->inputs()) {
        if (input.node != nullptr) needed.push_back(input.node);
      }
    }
    return absl::OkStatus();
  }

  // Describes a tensor by its name, or by its name in graph.outputs.
  absl::StatusOr<SignatureTensor> Describe(const std::string& name, absl::string_view key) const {
    const auto output = program_.outputs.find(name);
    const std::string& tensor = output == program_.outputs.end() ? name : output->second;
    const absl::StatusOr<Endpoint> endpoint = program_.graph->FindEndpoint(tensor);
    if (!endpoint.ok()) {
      std::vector<std::string> known;
      for (const auto& [alias, value] : program_.outputs) known.push_back(alias);
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": ", endpoint.status().message(), DidYouMean(name, known)));
    }
    SignatureTensor made{.tensor_name = absl::StrCat(endpoint->node->name(), ":", endpoint->index),
                         .dtype = endpoint->node->output_type(endpoint->index)};
    const auto shape = endpoint->node->attr<PartialShape>("shape");
    if (endpoint->node->IsOp("Placeholder") && shape.ok()) made.shape = *shape;
    return made;
  }

  absl::Status CopyAssets(const std::string& folder) const {
    for (const std::string& asset : spec_.assets()) {
      const std::filesystem::path source = prepared_.Resolve(asset);
      ASSIGN_OR_RETURN(const std::string content, ReadFile(source));
      const std::string assets = JoinPath(folder, "assets");
      RETURN_IF_ERROR(CreateDirectories(assets));
      RETURN_IF_ERROR(WriteFileAtomically(JoinPath(assets, source.filename().string()), content));
    }
    return absl::OkStatus();
  }

  const PreparedJob& prepared_;
  const TrainingProgram& program_;
  const training::ExportSpec& spec_;
  const std::string base_;
};

}  // namespace

absl::StatusOr<ExportResult> ExportModel(const PreparedJob& prepared, const RunFolder& folder,
                                         const Evaluation& evaluation) {
  return ModelExport(prepared).Run(folder, evaluation);
}

absl::Status CheckExport(const PreparedJob& prepared) { return ModelExport(prepared).Check(); }

}  // namespace tessera

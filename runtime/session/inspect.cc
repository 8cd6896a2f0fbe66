#include "runtime/session/inspect.h"

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/proto_text.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_match.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/device/gpu_options/gpu_options.h"
#include "runtime/session/saved_model.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

using TensorInfos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;
using Defaults = google::protobuf::Map<std::string, tensorflow::TensorProto>;

PartialShape ShapeOf(const tensorflow::TensorInfo& info) {
  if (!info.has_tensor_shape()) return PartialShape();
  return PartialShapeFromProto(info.tensor_shape()).value_or(PartialShape());
}

std::string PlaceOf(const tensorflow::TensorInfo& info) {
  if (info.has_coo_sparse()) {
    return absl::StrCat("sparse: ", info.coo_sparse().indices_tensor_name(), ", ",
                        info.coo_sparse().values_tensor_name(), ", ",
                        info.coo_sparse().dense_shape_tensor_name());
  }
  if (info.has_composite_tensor()) {
    return absl::StrCat("composite of ", info.composite_tensor().components_size(), " tensors");
  }
  return info.name();
}

std::vector<InspectedTensor> InspectTensors(const TensorInfos& infos, const Defaults& defaults) {
  std::vector<InspectedTensor> tensors;
  for (const auto& [alias, info] : infos) {
    tensors.push_back({.alias = alias,
                       .dtype = static_cast<DType>(info.dtype()),
                       .shape = ShapeOf(info),
                       .place = PlaceOf(info),
                       .has_default = defaults.count(alias) > 0});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.alias < b.alias; });
  return tensors;
}

std::vector<InspectedSignature> InspectSignatures(const tensorflow::MetaGraphDef& meta_graph) {
  std::vector<InspectedSignature> signatures;
  for (const auto& [name, signature] : meta_graph.signature_def()) {
    if (name == "__saved_model_init_op") continue;
    signatures.push_back({.name = name,
                          .method_name = signature.method_name(),
                          .inputs = InspectTensors(signature.inputs(), signature.defaults()),
                          .outputs = InspectTensors(signature.outputs(), {})});
  }
  std::sort(signatures.begin(), signatures.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return signatures;
}

absl::StatusOr<InspectedMetaGraph> InspectMetaGraph(const std::string& directory,
                                                    const tensorflow::MetaGraphDef& meta_graph,
                                                    TrialLoadFunction load) {
  const auto& tags = meta_graph.meta_info_def().tags();
  InspectedMetaGraph result{.tags = {tags.begin(), tags.end()},
                            .tensorflow_version = meta_graph.meta_info_def().tensorflow_version(),
                            .signatures = InspectSignatures(meta_graph),
                            .census = TakeCensus(meta_graph.graph_def(), IsBuiltForGpus()),
                            .load = load(directory, {tags.begin(), tags.end()})};
  ASSIGN_OR_RETURN(const std::vector<tensorflow::AssetFileDef> assets, ReadAssets(meta_graph));
  for (const tensorflow::AssetFileDef& asset : assets) {
    result.assets.emplace_back(asset.filename(), asset.tensor_info().name());
  }
  return result;
}

absl::StatusOr<InspectedCheckpoint> InspectCheckpoint(const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  InspectedCheckpoint checkpoint{.prefix = prefix};
  for (const std::string& name : reader->TensorNames()) {
    if (name == kObjectGraphKey) continue;  // tells what belongs to what, and is no variable
    ASSIGN_OR_RETURN(const CheckpointEntry entry, reader->Find(name));
    InspectedVariable variable{.name = name,
                               .dtype = entry.dtype,
                               .shape = entry.shape,
                               .in_slices = entry.is_partitioned};
    if (IsTriviallyCopyable(entry.dtype)) {
      variable.bytes = entry.shape.num_elements() * static_cast<int64_t>(DTypeSize(entry.dtype));
      checkpoint.bytes += *variable.bytes;
    }
    checkpoint.variables.push_back(std::move(variable));
  }
  return checkpoint;
}

absl::StatusOr<Inspection> InspectSavedModel(const std::string& directory, TrialLoadFunction load) {
  ASSIGN_OR_RETURN(const std::unique_ptr<tensorflow::SavedModel> saved_model,
                   ReadSavedModel(directory));
  Inspection result{.kind = Inspection::Kind::kSavedModel, .path = directory};
  for (const tensorflow::MetaGraphDef& meta_graph : saved_model->meta_graphs()) {
    ASSIGN_OR_RETURN(result.meta_graphs.emplace_back(),
                     InspectMetaGraph(directory, meta_graph, load));
  }
  const std::string variables = JoinPath(JoinPath(directory, "variables"), "variables");
  if (FileExists(absl::StrCat(variables, ".index"))) {
    ASSIGN_OR_RETURN(result.checkpoint, InspectCheckpoint(variables));
  }
  return result;
}

absl::StatusOr<InspectedGraph> InspectGraphFile(const std::string& path) {
  const size_t slash = path.rfind('/') + 1;
  if (absl::StartsWith(path.substr(slash), "saved_model.pb")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a part of a SavedModel: name its folder, ",
                     slash == 0 ? "." : path.substr(0, std::max<size_t>(1, slash - 1))));
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  tensorflow::GraphDef graph;
  const bool is_text = absl::EndsWith(path, ".pbtxt") || absl::EndsWith(path, ".textproto");
  absl::Status parsed;
  if (is_text) {
    parsed = ParseProtoText(bytes, &graph);
  } else if (!graph.ParseFromString(bytes)) {
    parsed = absl::DataLossError("it is damaged, or of another kind");
  }
  RETURN_IF_ERROR(Annotate(parsed, absl::StrCat(path, " is not a GraphDef: ")));
  InspectedGraph result{.producer = graph.versions().producer(),
                        .census = TakeCensus(graph, IsBuiltForGpus())};
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.op() != "Placeholder" && node.op() != "PlaceholderV2") continue;
    auto dtype = node.attr().find("dtype");
    result.placeholders.emplace_back(node.name(), dtype == node.attr().end()
                                                      ? DType::kInvalid
                                                      : static_cast<DType>(dtype->second.type()));
  }
  return result;
}

// The prefix of the checkpoint that `path` names: itself, its index, or the newest in a directory.
std::string CheckpointPrefix(const std::string& path) {
  constexpr absl::string_view kIndex = ".index";
  if (absl::EndsWith(path, kIndex)) return path.substr(0, path.size() - kIndex.size());
  if (FileExists(absl::StrCat(path, kIndex))) return path;
  if (!IsDirectory(path)) return "";
  absl::StatusOr<std::vector<std::string>> entries = ListDirectory(path);
  if (!entries.ok()) return "";
  std::string prefix;
  for (const std::string& entry : *entries) {
    if (absl::EndsWith(entry, kIndex)) {
      prefix = JoinPath(path, entry.substr(0, entry.size() - kIndex.size()));
    }
  }
  return prefix;
}

}  // namespace

absl::StatusOr<Inspection> Inspect(const std::string& path, TrialLoadFunction load) {
  if (FileExists(JoinPath(path, "saved_model.pb")) ||
      FileExists(JoinPath(path, "saved_model.pbtxt"))) {
    return InspectSavedModel(path, load);
  }
  const std::string prefix = CheckpointPrefix(path);
  if (!prefix.empty()) {
    Inspection result{.kind = Inspection::Kind::kCheckpoint, .path = prefix};
    ASSIGN_OR_RETURN(result.checkpoint, InspectCheckpoint(prefix));
    return result;
  }
  if (FileExists(path) && !IsDirectory(path)) {
    Inspection result{.kind = Inspection::Kind::kGraph, .path = path};
    ASSIGN_OR_RETURN(result.graph, InspectGraphFile(path));
    return result;
  }
  return absl::NotFoundError(absl::StrCat(
      path,
      " is neither a SavedModel (a directory with saved_model.pb), nor a checkpoint (PREFIX "
      "of PREFIX.index), nor a file with a GraphDef",
      HintAtVersions(path)));
}

absl::Status Usability(const Inspection& inspection) {
  if (inspection.kind == Inspection::Kind::kSavedModel && inspection.meta_graphs.empty()) {
    return absl::NotFoundError(
        "the SavedModel has no meta graph, as a file that was not written to its end; export or "
        "copy it again");
  }
  int num_missing = 0;
  for (const InspectedMetaGraph& meta_graph : inspection.meta_graphs) {
    RETURN_IF_ERROR(meta_graph.load);
    num_missing += meta_graph.census.NumOpsWithoutKernel();
  }
  if (inspection.graph) num_missing += inspection.graph->census.NumOpsWithoutKernel();
  if (num_missing == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(num_missing, num_missing == 1 ? " op has" : " ops have", " no kernel"));
}

}  // namespace tessera

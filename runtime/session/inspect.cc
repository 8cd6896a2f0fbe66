#include "runtime/session/inspect.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/proto_text.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/session/graph_census.h"
#include "runtime/session/saved_model.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

std::string BytesText(int64_t bytes) {
  if (bytes < 10 * 1024) return absl::StrCat(bytes, " bytes");
  if (bytes < 10 * 1024 * 1024) return absl::StrFormat("%.1f KiB", bytes / 1024.0);
  return absl::StrFormat("%.1f MiB", bytes / (1024.0 * 1024.0));
}

std::string ShapeText(const tensorflow::TensorInfo& info) {
  if (!info.has_tensor_shape()) return "<unknown>";
  absl::StatusOr<PartialShape> shape = PartialShapeFromProto(info.tensor_shape());
  return shape.ok() ? shape->ToString() : "<malformed>";
}

std::string PlaceText(const tensorflow::TensorInfo& info) {
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

void DescribeEnds(const char* what,
                  const google::protobuf::Map<std::string, tensorflow::TensorInfo>& ends,
                  const google::protobuf::Map<std::string, tensorflow::TensorProto>* defaults,
                  std::string* out) {
  const std::map<std::string, const tensorflow::TensorInfo*> sorted = [&] {
    std::map<std::string, const tensorflow::TensorInfo*> result;
    for (const auto& [alias, info] : ends) result[alias] = &info;
    return result;
  }();
  size_t width = 0;
  for (const auto& [alias, info] : sorted) width = std::max(width, alias.size());
  for (const auto& [alias, info] : sorted) {
    absl::StrAppendFormat(
        out, "      %-6s %-*s  %s %s  %s%s\n", what, static_cast<int>(width), alias,
        DTypeName(static_cast<DType>(info->dtype())), ShapeText(*info), PlaceText(*info),
        defaults != nullptr && defaults->count(alias) > 0 ? "  (has a default)" : "");
  }
}

void DescribeSignatures(const tensorflow::MetaGraphDef& meta_graph, std::string* out) {
  std::map<std::string, const tensorflow::SignatureDef*> sorted;
  for (const auto& [name, signature] : meta_graph.signature_def()) {
    if (name != "__saved_model_init_op") sorted[name] = &signature;
  }
  for (const auto& [name, signature] : sorted) {
    absl::StrAppend(
        out, "    signature ", name,
        signature->method_name().empty() ? "" : absl::StrCat(" (", signature->method_name(), ")"),
        "\n");
    DescribeEnds("input", signature->inputs(), &signature->defaults(), out);
    DescribeEnds("output", signature->outputs(), nullptr, out);
  }
  if (sorted.empty()) absl::StrAppend(out, "    no signatures\n");
}

void DescribeOps(const GraphCensus& census, const InspectOptions& options, std::string* out) {
  absl::StrAppend(out, "    ", census.num_nodes, " nodes");
  if (census.num_functions > 0) {
    absl::StrAppend(out, ", ", census.num_function_nodes, " more in ", census.num_functions,
                    census.num_functions == 1 ? " function" : " functions");
  }
  absl::StrAppend(out, "; ", census.ops.size(), " ops\n");
  const auto missing = std::count_if(census.ops.begin(), census.ops.end(), [](const auto& entry) {
    return !entry.second.without_kernel.empty();
  });
  if (missing == 0) {
    absl::StrAppend(out, "    every op has a kernel\n");
  } else {
    absl::StrAppend(out, "    ", missing, missing == 1 ? " op has" : " ops have",
                    " no kernel (custom ops load with --op_library=FILE.so):\n");
  }
  constexpr size_t kNodesShown = 5;
  for (const auto& [op, use] : census.ops) {
    const std::vector<std::string>& nodes = use.without_kernel;
    if (nodes.empty()) continue;
    const size_t shown = std::min(nodes.size(), kNodesShown);
    absl::StrAppend(out, "      ", op, " x ", nodes.size(), ": ",
                    absl::StrJoin(nodes.begin(), nodes.begin() + shown, ", "),
                    nodes.size() > shown ? ", ..." : "",
                    use.detail.empty() ? "" : absl::StrCat(" (", use.detail, ")"), "\n");
  }
  if (!options.list_ops) return;
  std::vector<std::pair<std::string, size_t>> by_count;
  for (const auto& [op, use] : census.ops) by_count.emplace_back(op, use.nodes.size());
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  absl::StrAppend(out, "    ops by count:\n");
  for (const auto& [op, count] : by_count) {
    absl::StrAppendFormat(out, "      %6d  %s%s\n", count, op,
                          census.ops.at(op).without_kernel.empty() ? "" : "  (no kernel)");
  }
}

absl::Status DescribeCheckpoint(const std::string& prefix, const std::string& indent,
                                std::string* out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  int64_t total = 0;
  size_t width = 0;
  const std::vector<std::string> names = reader->TensorNames();
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string lines;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const CheckpointEntry entry, reader->Find(name));
    const bool has_size = IsTriviallyCopyable(entry.dtype);
    const int64_t bytes = entry.shape.num_elements() * static_cast<int64_t>(DTypeSize(entry.dtype));
    if (has_size) total += bytes;
    absl::StrAppendFormat(&lines, "%s  %-*s  %s %s%s%s\n", indent, static_cast<int>(width), name,
                          DTypeName(entry.dtype), entry.shape.ToString(),
                          has_size ? absl::StrCat("  ", BytesText(bytes)) : "",
                          entry.is_partitioned ? "  (in slices)" : "");
  }
  absl::StrAppend(out, indent, names.size(), names.size() == 1 ? " variable" : " variables", ", ",
                  BytesText(total), "\n", lines);
  return absl::OkStatus();
}

absl::Status DescribeAssets(const tensorflow::MetaGraphDef& meta_graph, std::string* out) {
  ASSIGN_OR_RETURN(const std::vector<tensorflow::AssetFileDef> assets, ReadAssets(meta_graph));
  for (const tensorflow::AssetFileDef& asset : assets) {
    absl::StrAppend(out, "    asset ", asset.filename(), "  fed to ", asset.tensor_info().name(),
                    "\n");
  }
  return absl::OkStatus();
}

// Says whether a meta graph loads, which is tried.
void DescribeLoad(const std::string& directory, const tensorflow::MetaGraphDef& meta_graph,
                  const SessionOptions& options, std::string* out) {
  const auto& tags = meta_graph.meta_info_def().tags();
  const absl::Status status =
      LoadSavedModel(directory, {tags.begin(), tags.end()}, options).status();
  absl::StrAppend(out, "    ",
                  status.ok() ? "loads" : absl::StrCat("does not load: ", status.ToString()), "\n");
}

absl::StatusOr<std::string> DescribeSavedModel(const std::string& directory,
                                               const InspectOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<tensorflow::SavedModel> saved_model,
                   ReadSavedModel(directory));
  std::string out = absl::StrCat("SavedModel ", directory, "\n");
  for (const tensorflow::MetaGraphDef& meta_graph : saved_model->meta_graphs()) {
    const auto& info = meta_graph.meta_info_def();
    absl::StrAppend(&out, "  meta graph { ", absl::StrJoin(info.tags(), ", "), " }",
                    info.tensorflow_version().empty()
                        ? ""
                        : absl::StrCat(", written by TensorFlow ", info.tensorflow_version()),
                    "\n");
    DescribeSignatures(meta_graph, &out);
    DescribeOps(TakeCensus(meta_graph.graph_def()), options, &out);
    DescribeLoad(directory, meta_graph, options.session, &out);
    RETURN_IF_ERROR(DescribeAssets(meta_graph, &out));
  }
  const std::string variables = JoinPath(JoinPath(directory, "variables"), "variables");
  if (FileExists(absl::StrCat(variables, ".index"))) {
    RETURN_IF_ERROR(DescribeCheckpoint(variables, "  ", &out));
  }
  return out;
}

absl::StatusOr<std::string> DescribeGraphFile(const std::string& path,
                                              const InspectOptions& options) {
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
  std::string out =
      absl::StrCat("GraphDef ", path, ", producer ", graph.versions().producer(), "\n");
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.op() != "Placeholder" && node.op() != "PlaceholderV2") continue;
    auto dtype = node.attr().find("dtype");
    absl::StrAppend(
        &out, "    placeholder ", node.name(), "  ",
        dtype == node.attr().end() ? "" : DTypeName(static_cast<DType>(dtype->second.type())),
        "\n");
  }
  DescribeOps(TakeCensus(graph), options, &out);
  return out;
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

absl::StatusOr<std::string> Inspect(const std::string& path, const InspectOptions& options) {
  if (FileExists(JoinPath(path, "saved_model.pb")) ||
      FileExists(JoinPath(path, "saved_model.pbtxt"))) {
    return DescribeSavedModel(path, options);
  }
  const std::string prefix = CheckpointPrefix(path);
  if (!prefix.empty()) {
    std::string out = absl::StrCat("checkpoint ", prefix, "\n");
    RETURN_IF_ERROR(DescribeCheckpoint(prefix, "  ", &out));
    return out;
  }
  if (FileExists(path) && !IsDirectory(path)) return DescribeGraphFile(path, options);
  return absl::NotFoundError(absl::StrCat(
      path,
      " is neither a SavedModel (a directory with saved_model.pb), nor a checkpoint (PREFIX "
      "of PREFIX.index), nor a file with a GraphDef",
      HintAtVersions(path)));
}

}  // namespace tessera

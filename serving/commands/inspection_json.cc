#include "serving/commands/inspection_json.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

void WriteMember(absl::string_view key, absl::string_view value, JsonWriter& json) {
  json.Key(key);
  json.String(value);
}
void WriteMember(absl::string_view key, int64_t value, JsonWriter& json) {
  json.Key(key);
  json.Number(value);
}
void WriteFlag(absl::string_view key, bool value, JsonWriter& json) {
  json.Key(key);
  json.Bool(value);
}

void WriteStrings(absl::string_view key, const auto& values, JsonWriter& json) {
  json.Key(key);
  json.StartArray();
  for (const std::string& value : values) json.String(value);
  json.EndArray();
}

void WriteDims(absl::Span<const int64_t> dims, JsonWriter& json) {
  json.Key("shape");
  json.set_arrays_on_one_line(true);
  json.StartArray();
  for (const int64_t dim : dims) dim < 0 ? json.Literal("null") : json.Number(dim);
  json.EndArray();
  json.set_arrays_on_one_line(false);
}

void WriteTensors(absl::string_view key, const std::vector<InspectedTensor>& tensors,
                  JsonWriter& json) {
  json.Key(key);
  json.StartObject();
  for (const InspectedTensor& tensor : tensors) {
    json.Key(tensor.alias);
    json.StartObject();
    WriteMember("dtype", DTypeName(tensor.dtype), json);
    if (tensor.shape.known_rank()) {
      WriteDims(tensor.shape.dims(), json);
    } else {
      json.Key("shape");
      json.Literal("null");
    }
    WriteMember("tensor", tensor.place, json);
    WriteFlag("has_default", tensor.has_default, json);
    json.EndObject();
  }
  json.EndObject();
}

void WriteSignatures(const std::vector<InspectedSignature>& signatures, JsonWriter& json) {
  json.Key("signatures");
  json.StartObject();
  for (const InspectedSignature& signature : signatures) {
    json.Key(signature.name);
    json.StartObject();
    WriteMember("method_name", signature.method_name, json);
    WriteTensors("inputs", signature.inputs, json);
    WriteTensors("outputs", signature.outputs, json);
    json.EndObject();
  }
  json.EndObject();
}

void WriteCensus(const GraphCensus& census, JsonWriter& json) {
  WriteMember("nodes", census.num_nodes, json);
  WriteMember("functions", census.num_functions, json);
  WriteMember("function_nodes", census.num_function_nodes, json);
  json.Key("ops");
  json.StartObject();
  for (const auto& [op, use] : census.ops) {
    json.Key(op);
    json.StartObject();
    WriteMember("count", static_cast<int64_t>(use.nodes.size()), json);
    WriteStrings("without_kernel", use.without_kernel, json);
    if (!use.without_gpu_kernel.empty()) {
      WriteStrings("without_gpu_kernel", use.without_gpu_kernel, json);
    }
    if (!use.detail.empty()) WriteMember("detail", use.detail, json);
    WriteStrings("dtypes", use.dtypes, json);
    WriteStrings("devices", use.devices, json);
    json.EndObject();
  }
  json.EndObject();
}

void WriteStatus(absl::string_view key, const absl::Status& status, JsonWriter& json) {
  json.Key(key);
  json.StartObject();
  WriteMember("error_code", absl::StatusCodeToString(status.code()), json);
  WriteMember("error_message", status.message(), json);
  json.EndObject();
}

void WriteMetaGraph(const InspectedMetaGraph& meta_graph, JsonWriter& json) {
  json.StartObject();
  WriteStrings("tags", meta_graph.tags, json);
  WriteMember("tensorflow_version", meta_graph.tensorflow_version, json);
  WriteSignatures(meta_graph.signatures, json);
  WriteCensus(meta_graph.census, json);
  WriteStatus("load", meta_graph.load, json);
  json.Key("assets");
  json.StartObject();
  for (const auto& [file, tensor] : meta_graph.assets) WriteMember(file, tensor, json);
  json.EndObject();
  json.EndObject();
}

void WriteCheckpoint(const InspectedCheckpoint& checkpoint, JsonWriter& json) {
  json.StartObject();
  WriteMember("prefix", checkpoint.prefix, json);
  WriteMember("bytes", checkpoint.bytes, json);
  json.Key("variables");
  json.StartObject();
  for (const InspectedVariable& variable : checkpoint.variables) {
    json.Key(variable.name);
    json.StartObject();
    WriteMember("dtype", DTypeName(variable.dtype), json);
    WriteDims(variable.shape.dims(), json);
    json.Key("bytes");
    variable.bytes ? json.Number(*variable.bytes) : json.Literal("null");
    WriteFlag("in_slices", variable.in_slices, json);
    json.EndObject();
  }
  json.EndObject();
  json.EndObject();
}

void WriteGraph(const InspectedGraph& graph, JsonWriter& json) {
  json.StartObject();
  WriteMember("producer", graph.producer, json);
  json.Key("placeholders");
  json.StartObject();
  for (const auto& [name, dtype] : graph.placeholders) WriteMember(name, DTypeName(dtype), json);
  json.EndObject();
  WriteCensus(graph.census, json);
  json.EndObject();
}

void WriteTimes(const KernelTimes& times, JsonWriter& json) {
  json.StartObject();
  WriteMember("runs", times.runs, json);
  json.Key("kernels");
  json.StartArray();
  for (const KernelTime& kernel : times.kernels) {
    json.StartObject();
    WriteMember("op", kernel.op, json);
    WriteMember("device", kernel.device, json);
    WriteMember("dtype", kernel.dtype, json);
    WriteMember("nodes", kernel.nodes, json);
    json.Key("share");
    json.Number(kernel.share);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

absl::string_view KindName(Inspection::Kind kind) {
  switch (kind) {
    case Inspection::Kind::kSavedModel:
      return "saved_model";
    case Inspection::Kind::kCheckpoint:
      return "checkpoint";
    case Inspection::Kind::kGraph:
      return "graph";
  }
  return "";
}

}  // namespace

std::string InspectionJson(const Inspection& inspection, const KernelTimes* times) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  WriteMember("kind", KindName(inspection.kind), json);
  WriteMember("path", inspection.path, json);
  const absl::Status usability = Usability(inspection);
  WriteFlag("usable", usability.ok(), json);
  if (!usability.ok()) WriteMember("problem", usability.ToString(), json);
  if (inspection.kind == Inspection::Kind::kSavedModel) {
    json.Key("meta_graphs");
    json.StartArray();
    for (const auto& meta_graph : inspection.meta_graphs) WriteMetaGraph(meta_graph, json);
    json.EndArray();
  }
  if (inspection.checkpoint) {
    json.Key("checkpoint");
    WriteCheckpoint(*inspection.checkpoint, json);
  }
  if (inspection.graph) {
    json.Key("graph");
    WriteGraph(*inspection.graph, json);
  }
  if (times != nullptr) {
    json.Key("measured");
    WriteTimes(*times, json);
  }
  json.EndObject();
  text += '\n';
  return text;
}

}  // namespace tessera::serving

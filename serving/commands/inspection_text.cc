#include "serving/commands/inspection_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "serving/commands/text_column.h"

namespace tessera::serving {
namespace {

std::string BytesText(int64_t bytes) {
  if (bytes < 10 * 1024) return absl::StrCat(bytes, " bytes");
  if (bytes < 10 * 1024 * 1024) return absl::StrFormat("%.1f KiB", bytes / 1024.0);
  return absl::StrFormat("%.1f MiB", bytes / (1024.0 * 1024.0));
}

// Returns "1 op" or "2 ops".
std::string Count(size_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

void AppendTensors(absl::string_view what, const std::vector<InspectedTensor>& tensors,
                   std::string* out) {
  size_t width = 0;
  for (const InspectedTensor& tensor : tensors) width = std::max(width, WidthOf(tensor.alias));
  for (const InspectedTensor& tensor : tensors) {
    absl::StrAppendFormat(out, "      %-6s %s  %s %s  %s%s\n", what, Padded(tensor.alias, width),
                          tensor.dtype == DType::kInvalid ? "" : DTypeName(tensor.dtype),
                          tensor.shape.ToString(), tensor.place,
                          tensor.has_default ? "  (has a default)" : "");
  }
}

void AppendSignature(const InspectedSignature& signature, std::string* out) {
  absl::StrAppend(
      out, "    signature ", signature.name,
      signature.method_name.empty() ? "" : absl::StrCat(" (", signature.method_name, ")"), "\n");
  AppendTensors("input", signature.inputs, out);
  AppendTensors("output", signature.outputs, out);
}

void AppendNodes(const std::string& op, const std::vector<std::string>& nodes,
                 const std::string& detail, std::string* out) {
  constexpr size_t kNodesShown = 5;
  const size_t shown = std::min(nodes.size(), kNodesShown);
  absl::StrAppend(out, "      ", op, " x ", nodes.size(), ": ",
                  absl::StrJoin(nodes.begin(), nodes.begin() + shown, ", "),
                  nodes.size() > shown ? ", ..." : "",
                  detail.empty() ? "" : absl::StrCat(" (", detail, ")"), "\n");
}

void AppendOpsByCount(const GraphCensus& census, std::string* out) {
  std::vector<std::pair<std::string, size_t>> by_count;
  for (const auto& [op, use] : census.ops) by_count.emplace_back(op, use.nodes.size());
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  absl::StrAppend(out, "    ops by count:\n");
  for (const auto& [op, count] : by_count) {
    const OpUse& use = census.ops.at(op);
    absl::StrAppendFormat(out, "      %6d  %s", count, op);
    if (!use.devices.empty()) {
      absl::StrAppend(out, "  (", absl::StrJoin(use.dtypes, ", "), use.dtypes.empty() ? "" : "; ",
                      absl::StrJoin(use.devices, ", "), ")");
    }
    absl::StrAppend(out, use.without_kernel.empty() ? "" : "  (no kernel)", "\n");
  }
}

void AppendCensus(const GraphCensus& census, bool list_ops, std::string* out) {
  absl::StrAppend(out, "    ", census.num_nodes, " nodes");
  if (census.num_functions > 0) {
    absl::StrAppend(out, ", ", census.num_function_nodes, " more in ",
                    Count(census.num_functions, "function"));
  }
  absl::StrAppend(out, "; ", census.ops.size(), " ops\n");
  if (const int missing = census.NumOpsWithoutKernel(); missing == 0) {
    absl::StrAppend(out, "    every op has a kernel\n");
  } else {
    absl::StrAppend(out, "    ", Count(missing, "op"), missing == 1 ? " has" : " have",
                    " no kernel (custom ops load with --op_library=FILE.so):\n");
  }
  for (const auto& [op, use] : census.ops) {
    if (!use.without_kernel.empty()) AppendNodes(op, use.without_kernel, use.detail, out);
  }
  if (const int on_cpu = census.NumOpsWithoutGpuKernel(); on_cpu > 0) {
    absl::StrAppend(out, "    ", Count(on_cpu, "op"), on_cpu == 1 ? " runs" : " run",
                    " on the CPU beside a GPU, for want of a kernel there:\n");
  }
  for (const auto& [op, use] : census.ops) {
    if (!use.without_gpu_kernel.empty()) AppendNodes(op, use.without_gpu_kernel, "", out);
  }
  if (list_ops) AppendOpsByCount(census, out);
}

void AppendMetaGraph(const InspectedMetaGraph& meta_graph, bool list_ops, std::string* out) {
  absl::StrAppend(out, "  meta graph { ", absl::StrJoin(meta_graph.tags, ", "), " }",
                  meta_graph.tensorflow_version.empty()
                      ? ""
                      : absl::StrCat(", written by TensorFlow ", meta_graph.tensorflow_version),
                  "\n");
  for (const InspectedSignature& signature : meta_graph.signatures) AppendSignature(signature, out);
  if (meta_graph.signatures.empty()) absl::StrAppend(out, "    no signatures\n");
  AppendCensus(meta_graph.census, list_ops, out);
  absl::StrAppend(
      out, "    ",
      meta_graph.load.ok() ? "loads" : absl::StrCat("does not load: ", meta_graph.load.ToString()),
      "\n");
  for (const auto& [file, tensor] : meta_graph.assets) {
    absl::StrAppend(out, "    asset ", file, "  fed to ", tensor, "\n");
  }
}

void AppendCheckpoint(const InspectedCheckpoint& checkpoint, std::string* out) {
  absl::StrAppend(out, "  ", Count(checkpoint.variables.size(), "variable"), ", ",
                  BytesText(checkpoint.bytes), "\n");
  size_t width = 0;
  for (const auto& variable : checkpoint.variables) width = std::max(width, WidthOf(variable.name));
  for (const InspectedVariable& variable : checkpoint.variables) {
    absl::StrAppendFormat(out, "    %s  %s %s%s%s\n", Padded(variable.name, width),
                          DTypeName(variable.dtype), variable.shape.ToString(),
                          variable.bytes ? absl::StrCat("  ", BytesText(*variable.bytes)) : "",
                          variable.in_slices ? "  (in slices)" : "");
  }
}

void AppendGraph(const InspectedGraph& graph, bool list_ops, std::string* out) {
  for (const auto& [name, dtype] : graph.placeholders) {
    absl::StrAppend(out, "    placeholder ", name, "  ",
                    dtype == DType::kInvalid ? "" : DTypeName(dtype), "\n");
  }
  AppendCensus(graph.census, list_ops, out);
}

std::string Title(const Inspection& inspection) {
  switch (inspection.kind) {
    case Inspection::Kind::kSavedModel:
      return absl::StrCat("SavedModel ", inspection.path);
    case Inspection::Kind::kCheckpoint:
      return absl::StrCat("checkpoint ", inspection.path);
    case Inspection::Kind::kGraph:
      return absl::StrCat("GraphDef ", inspection.path, ", producer ", inspection.graph->producer);
  }
  return inspection.path;
}

}  // namespace

std::string InspectionText(const Inspection& inspection, bool list_ops) {
  std::string out = absl::StrCat(Title(inspection), "\n");
  for (const auto& meta_graph : inspection.meta_graphs) AppendMetaGraph(meta_graph, list_ops, &out);
  if (inspection.checkpoint) AppendCheckpoint(*inspection.checkpoint, &out);
  if (inspection.graph) AppendGraph(*inspection.graph, list_ops, &out);
  return out;
}

std::string KernelTimesText(const KernelTimes& times) {
  if (times.runs == 0) {
    return "  no kernel was timed: no signature is free of effects and fits made-up inputs\n";
  }
  std::string out = absl::StrCat("  kernels by time, ", Count(times.runs, "run"),
                                 " (after the passes that fold and fuse ops):\n");
  size_t width = sizeof("kernel") - 1, device_width = sizeof("device") - 1;
  for (const KernelTime& kernel : times.kernels) {
    width = std::max(width, kernel.op.size());
    device_width = std::max(device_width, kernel.device.size());
  }
  const auto append = [&](absl::string_view share, absl::string_view nodes, absl::string_view op,
                          absl::string_view device, absl::string_view dtype) {
    absl::StrAppendFormat(&out, "    %6s  %5s  %-*s  %-*s  %s\n", share, nodes,
                          static_cast<int>(width), op, static_cast<int>(device_width), device,
                          dtype);
  };
  append("share", "nodes", "kernel", "device", "dtype");
  for (const KernelTime& kernel : times.kernels) {
    append(absl::StrFormat("%.1f%%", 100 * kernel.share), absl::StrCat(kernel.nodes), kernel.op,
           kernel.device, kernel.dtype);
  }
  return out;
}

}  // namespace tessera::serving

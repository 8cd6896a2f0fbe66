#include "runtime/exec/missing_kernels.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tessera {
namespace {

// The payload is text: a line per node, op, node and detail separated by tabs. Names come from
// models and may hold anything: these are escaped.
constexpr absl::string_view kPayload = "tessera/missing_kernels";
// A message stays readable: further nodes of an op are counted.
constexpr int kMaxNodesShown = 8;

}  // namespace

absl::string_view WhyNoKernel(absl::string_view op) {
  if (op == "PyFunc" || op == "PyFuncStateless" || op == "EagerPyFunc") {
    return "a call of Python code, such as tf.py_function, that is no part of the model; export it "
           "with TensorFlow's ops instead";
  }
  return "";
}

void MissingKernels::Add(absl::string_view op, absl::string_view node, absl::string_view detail) {
  Op& entry = ops_[std::string(op)];
  if (entry.names.emplace(node).second) entry.nodes.emplace_back(node);
  if (entry.detail.empty()) entry.detail = std::string(detail.empty() ? WhyNoKernel(op) : detail);
}

bool MissingKernels::Merge(const absl::Status& status, absl::string_view prefix) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return false;
  const std::string text(*payload);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    for (std::string& field : fields) absl::CUnescape(std::string(field), &field);
    if (fields.size() == 3) Add(fields[0], absl::StrCat(prefix, fields[1]), fields[2]);
  }
  return true;
}

absl::Status MissingKernels::ToStatus() const {
  if (ops_.empty()) return absl::OkStatus();
  std::string payload;
  std::vector<std::string> items;
  for (const auto& [name, op] : ops_) {
    for (const std::string& node : op.nodes) {
      absl::StrAppend(&payload, absl::CEscape(name), "\t", absl::CEscape(node), "\t",
                      absl::CEscape(op.detail), "\n");
    }
    const int shown = std::min<int>(op.nodes.size(), kMaxNodesShown);
    std::string item =
        absl::StrCat(name, op.nodes.size() == 1 ? " (node '" : " (nodes '",
                     absl::StrJoin(op.nodes.begin(), op.nodes.begin() + shown, "', '"), "'");
    const int more = static_cast<int>(op.nodes.size()) - shown;
    if (more > 0) absl::StrAppend(&item, " and ", more, " more");
    if (!op.detail.empty()) absl::StrAppend(&item, ": ", op.detail);
    items.push_back(absl::StrCat(item, ")"));
  }
  absl::Status status = absl::UnimplementedError(absl::StrCat(
      items.size(), items.size() == 1 ? " op has" : " ops have",
      " no kernel: ", absl::StrJoin(items, ", "), "; custom ops load with --op_library=FILE.so"));
  status.SetPayload(kPayload, absl::Cord(payload));
  return status;
}

}  // namespace tessera

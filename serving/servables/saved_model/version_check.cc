#include "serving/servables/saved_model/version_check.h"

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_files.h"
#include "runtime/session/graph_census.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

absl::Status CheckKernels(const std::string& path, const tensorflow::MetaGraphDef& meta_graph) {
  const GraphCensus census = TakeCensus(meta_graph.graph_def());
  if (census.NumOpsWithoutKernel() == 0) return absl::OkStatus();
  std::vector<std::string> ops;
  for (const auto& [op, use] : census.ops) {
    if (use.without_kernel.empty()) continue;
    ops.push_back(absl::StrCat(op, " (node '", use.without_kernel.front(), "')"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(ops.size(), ops.size() == 1 ? " op has" : " ops have",
                   " no kernel: ", absl::StrJoin(ops, ", "), "; `tessera inspect ", path,
                   "` lists all nodes, and custom ops load with "
                   "--op_library=FILE.so"));
}

}  // namespace

std::vector<absl::Status> CheckVersion(const std::string& path, const std::set<std::string>& tags) {
  const std::string prefix = JoinPath(path, "variables/variables");
  std::vector<absl::Status> all;
  bool has_holes;  // which read as zeros
  if (!FileExists(path)) {
    all = {CheckCheckpointFiles(path, &has_holes)};
  } else {
    const absl::StatusOr<std::unique_ptr<tensorflow::MetaGraphDef>> meta_graph =
        ReadMetaGraph(path, tags);
    all = {meta_graph.ok() ? CheckKernels(path, **meta_graph) : meta_graph.status(),
           FileExists(JoinPath(path, "variables")) ? CheckCheckpointFiles(prefix, &has_holes)
                                                   : absl::OkStatus()};
  }
  std::erase_if(all, [](const absl::Status& status) { return status.ok(); });
  return all;
}

}  // namespace tessera::serving

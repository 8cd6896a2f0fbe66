// Ops that cannot run here, gathered over a graph and the functions it calls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Returns why no server can have a kernel of the op, for ops that exported models do have; else "".
absl::string_view WhyNoKernel(absl::string_view op);

// Collects what has no kernel, and makes one error of it:
//
//   UNIMPLEMENTED: 2 ops have no kernel: CTCLoss (node 'loss/ctc'), Foo (nodes 'a', 'b'); custom
//   ops load with --op_library=FILE.so
//
// The error carries the list, so that errors of several graphs can be merged into one.
class MissingKernels {
 public:
  // `detail` says more than "no kernel at all": the dtypes asked for and those there are. Without
  // it, that of WhyNoKernel() stands there.
  void Add(absl::string_view op, absl::string_view node, absl::string_view detail = "");
  // Takes over the list that ToStatus() put into `status`, with `prefix` before each node's name.
  // False if it carries none.
  bool Merge(const absl::Status& status, absl::string_view prefix = "");
  bool empty() const { return ops_.empty(); }
  // OK if nothing is missing.
  absl::Status ToStatus() const;

 private:
  struct Op {
    std::vector<std::string> nodes;  // each once, in the order of the calls of Add()
    absl::flat_hash_set<std::string> names;
    std::string detail;
  };
  std::map<std::string, Op> ops_;
};

}  // namespace tessera

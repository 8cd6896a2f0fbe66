// The recorded calls of ops that random calls are variations of.
#pragma once

#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "runtime/framework/op.h"

namespace tessera {

struct RecordedCall {
  AttrMap attrs;
  std::vector<Tensor> inputs;
};

// The calls in DIRECTORY/OP.pb, in the format of tests/data/golden/ops, which are read when they
// are first asked for. Used by one thread at a time.
class RecordedCalls {
 public:
  // An empty directory has no calls.
  explicit RecordedCalls(std::string directory) : directory_(std::move(directory)) {}

  // Returns the calls of the op that did not fail; none if there is no file of them.
  const std::vector<RecordedCall>& Of(const std::string& op) const;

 private:
  const std::string directory_;
  mutable absl::node_hash_map<std::string, std::vector<RecordedCall>> calls_;
};

}  // namespace tessera

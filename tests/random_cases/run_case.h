// Runs a random case on the runtime.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {

struct CaseResult {
  absl::Status status;
  std::vector<NamedTensor> outputs;  // what the plan fetches, in order
};

// Runs a case (tests/random_cases/random_graph.h) once in a new session. The working directory is
// an empty one during the run, for the files of the case; no other thread may depend on it.
CaseResult RunCase(const tensorflow::GraphDef& graph, const SessionOptions& options);

// Holds what the shape function of each op in a case says, given what is fed and fetched, against
// the shapes of `outputs`. Empty if all agree, else the first contradiction.
std::string FirstShapeContradiction(const tensorflow::GraphDef& graph,
                                    const std::vector<NamedTensor>& outputs);

}  // namespace tessera

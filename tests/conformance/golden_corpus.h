// The golden corpus: recorded calls of ops, and recorded graphs. Format: the README of the corpus.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {

// A tensor that must come out.
struct Expectation {
  std::string tensor;           // "node:index"
  absl::optional<Tensor> want;  // none: the tensor must exist, whatever it is
  Tolerance tolerance;
};

// One recorded call of an op, or one recorded graph.
struct GoldenCase {
  std::string group;  // the op, or "graphs"
  std::string name;   // the number of the call, or the graph's name
  tensorflow::GraphDef graph;
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> runs;  // nodes to run before, each in a run of its own
  std::vector<Expectation> expectations;
  std::vector<std::string> targets;  // run with the fetches
  std::string error;                 // the code that some run must end with; empty: none
};

// The files of one kind, "ops" or "graphs", that TensorFlow's own recordings and those of ours have
// below `data`, which is tests/data.
std::vector<std::string> GoldenFiles(const std::string& data, const std::string& kind);

// The calls in one file of DIR/ops. Inputs become placeholders that are fed: the recorded errors
// are those of the kernels, which constants would bring out earlier. Errors: INVALID_ARGUMENT for a
// file that is not of the corpus.
absl::StatusOr<std::vector<GoldenCase>> ReadOpCases(const std::string& path);
// The graph in one file of DIR/graphs.
absl::StatusOr<GoldenCase> ReadGraphCase(const std::string& path);

// Ops of the case, functions included, that no kernel is registered for.
std::vector<std::string> OpsWithoutKernel(const GoldenCase& golden);

// Runs the case in a new session on one thread. Empty if all is as recorded, else the first
// difference.
std::string Replay(const GoldenCase& golden, ExecutorKind executor, bool optimize);
// The same with whatever `options` say. `metadata`, unless null, gets the statistics of all runs.
// The last run, which gives what was recorded, is made `repetitions` times.
std::string Replay(const GoldenCase& golden, const SessionOptions& options,
                   tensorflow::RunMetadata* metadata, int repetitions = 1);

}  // namespace tessera

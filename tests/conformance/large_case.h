// Graphs of real sizes whose weights and inputs are computed from seeds, so that their files are
// small. tests/data/record makes them; tests/data/README.md has the format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {

// One recorded graph. A run of "init" with `initial_values` assigns its variables; a run with
// `inputs` computes `output`.
struct LargeCase {
  tensorflow::GraphDef graph;
  std::vector<NamedTensor> initial_values;
  std::vector<NamedTensor> inputs;
  std::string output;
  std::vector<std::string> ran;  // op types that an optimised run must contain

  Shape shape;                     // of the output
  double largest = 0;              // largest absolute value that the output should have
  double tolerance = 0;            // largest error of an element, relative to `largest`
  double tensorflow_error = 0;     // the largest error of TensorFlow's output, likewise
  std::vector<int64_t> positions;  // the elements that `exact` and `tensorflow` hold
  Tensor exact;                    // float64
  Tensor tensorflow;               // float, as TensorFlow computed it
  // Element i of the exact output times +1 or -1, as GeneratedSign(sign_seed, i) says, added up
  // over stretches of `stretch` elements.
  Tensor signed_sums;
  uint64_t sign_seed = 0;
  int64_t stretch = 0;
};

// Errors: those of reading the file; INVALID_ARGUMENT if it has another format.
absl::StatusOr<LargeCase> ReadLargeCase(const std::string& path);

// Empty if `output` is as recorded, else the first difference in words: a sampled element, or a
// stretch whose signed sum shows that some elements are wrong.
std::string FirstDifference(const Tensor& output, const LargeCase& large);

}  // namespace tessera

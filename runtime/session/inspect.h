// Describes models, checkpoints and graphs as text for people.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace tessera {

struct InspectOptions {
  // Lists every op with its count. Otherwise only ops without a kernel are listed.
  bool list_ops = false;
  // The options with which SavedModels are loaded on trial. A server that loads them with the same
  // options succeeds or fails alike.
  SessionOptions session;
};

// Describes the files at `path`: a SavedModel's directory (each meta graph's signatures, ops,
// variables and assets, and whether it loads), a checkpoint (its prefix, or a directory with one:
// tensors with dtype, shape and bytes), or a file with a GraphDef, binary or text (ops, functions,
// placeholders). Ops without a kernel are listed with their nodes. Meta graphs are loaded to see
// whether they can be, which runs their restore and init ops; nothing else is run.
//
//   SavedModel /models/half_plus_two/1
//     meta graph { serve }, written by TensorFlow 2.21.0
//     signature serving_default (tensorflow/serving/predict)
//       input  x   float [?]     x:0
//       output y   float [?]     y:0
//     57 nodes; 19 ops
//     every op has a kernel
//     loads
//   ...
//
// Errors: NOT_FOUND if there are no such files; DATA_LOSS for damaged ones.
absl::StatusOr<std::string> Inspect(const std::string& path, const InspectOptions& options);

}  // namespace tessera

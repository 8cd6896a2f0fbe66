// Restores the variables of a SavedModel's graph from a checkpoint that is not its own.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/session/session.h"

namespace tessera {

// Gives the variables that the graph's restore op assigns, and that its signatures or its init op
// use, the values of the checkpoint of this prefix: see MatchCheckpoint() for the keys. What else
// the checkpoint holds, such as the slots of an optimizer, is ignored. Runs nothing. Values alias
// the mapped files where they can. `session` is one on `model.graph`, and `pool` may be null.
//
// Errors: NOT_FOUND and DATA_LOSS from the checkpoint reader; INVALID_ARGUMENT with the first
// variables that are missing, or have another dtype or shape than the graph declares;
// FAILED_PRECONDITION if the graph restores no variables; UNIMPLEMENTED if its restore op does more
// than assigning variables, or if the session has devices besides the CPU.
absl::Status RestoreWeights(const SavedModelGraph& model, const std::string& prefix,
                            ThreadPool* pool, Session& session);

}  // namespace tessera

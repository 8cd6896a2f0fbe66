// Restores the variables of a SavedModel's graph from a checkpoint, without running the graph.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/session/session.h"

namespace tessera {

// Gives the variables that the graph's signatures or its init op use the values of the checkpoint
// of this prefix: those that the graph's restore op assigns, and their originals, see
// RestoreOriginals(). See MatchCheckpoint() for the keys. What else the checkpoint holds, such as
// the slots of an optimizer, is ignored. Values alias the mapped files where they can. `session` is
// one on `model.graph`, and `pool` may be null.
//
// Errors: NOT_FOUND and DATA_LOSS from the checkpoint reader; INVALID_ARGUMENT with the first
// variables that are missing, or have another dtype or shape than the graph declares;
// FAILED_PRECONDITION if the graph restores no variables; UNIMPLEMENTED if its restore op does more
// than assigning variables, or if the session has devices besides the CPU.
absl::Status RestoreWeights(const SavedModelGraph& model, const std::string& prefix,
                            ThreadPool* pool, Session& session);

// Gives variables that have no value, though the restore op of `model` has run, those of their
// copies.
//
// Keras 3 has two variables in a graph for each weight where tf.saved_model.save() saves it: the
// signatures read one, and the restore op assigns the other, whose initial value is that of the
// first. Where in addition the object graph of the checkpoint knows the first by its name, as
// tf.saved_model.load() would find it, it gets the value of the second.
absl::Status RestoreOriginals(const SavedModelGraph& model, ResourceManager& resources);

// Checks that the variables which the signatures of `model` use have values, though there were no
// files to restore them from: the init op may have given them some.
// Errors: NOT_FOUND with the names of those without one.
absl::Status CheckVariablesHaveValues(const SavedModelGraph& model, ResourceManager& resources);

}  // namespace tessera

// Finds the tensors of a graph's variables in a checkpoint that another program has written: a
// training job keeps the same variables under keys of its own, among optimizer slots and others.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/object_graph.h"

namespace tessera {

// Returns the object graph of a checkpoint; empty for a name-based one, which has none.
// Errors: DATA_LOSS.
absl::StatusOr<std::string> ReadObjectGraph(const CheckpointReader& checkpoint);

// Returns the keys of an object graph by the full names of their variables. The key of a name that
// several variables have is empty. An empty text is a graph without objects.
// Errors: DATA_LOSS.
absl::StatusOr<absl::flat_hash_map<std::string, std::string>> KeysByFullName(
    const std::string& object_graph);

// Returns for each of `keys`, by which a graph restores its variables, the key that has the value
// in `checkpoint`. The first of these ways is taken that finds tensors which fit for all of them:
//   - the same keys;
//   - the same places in the object graph, as TensorFlow restores objects: `object_graph` belongs
//     to `keys`; its root may be the root of the checkpoint's, or one of its children, such as the
//     `model` of tf.train.Checkpoint(model=model, optimizer=optimizer);
//   - the same full names, by which TensorFlow restores name-based checkpoints into objects and the
//     other way round. A name-based key is its own full name.
// `misfit` tells how the tensor of a checkpoint does not fit the variables of a key; empty if it
// fits.
//
// Errors: INVALID_ARGUMENT that names the first keys which are missing or do not fit, by the way
// that comes closest, or that several children of the root fit; DATA_LOSS for a damaged object
// graph.
absl::StatusOr<absl::flat_hash_map<std::string, std::string>> MatchCheckpoint(
    absl::Span<const std::string> keys, const std::string& object_graph,
    const CheckpointReader& checkpoint,
    absl::FunctionRef<std::string(const std::string& key, const CheckpointEntry& entry)> misfit);

}  // namespace tessera

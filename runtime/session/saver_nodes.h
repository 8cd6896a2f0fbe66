// Nodes that save and restore the variables of a graph.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session/saved_model_writer.h"

namespace tensorflow {
class SaverDef;
}  // namespace tensorflow

namespace tessera {

// Adds to *graph what tf.compat.v1.train.Saver adds: a placeholder for the prefix, SaveV2 and
// RestoreV2 over all variables, the assignments of what is restored, and one node to run for all of
// these. Their names begin with "save/", or "save_1/" and so on if those are taken. Returns a
// SaverDef that tells of them. Errors: INVALID_ARGUMENT for a node that is missing or no variable,
// and for two variables with one key.
absl::StatusOr<tensorflow::SaverDef> AddSaver(absl::Span<const ExportedVariable> variables,
                                              tensorflow::GraphDef* graph);

}  // namespace tessera

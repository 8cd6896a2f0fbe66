// Clipping of gradients, as nodes of the graph.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// Errors: INVALID_ARGUMENT for a limit that is not over 0.
absl::Status CheckClip(const training::ClipSpec& spec);

// Replaces gradients by clipped ones, as tf.clip_by_global_norm, tf.clip_by_norm and
// tf.clip_by_value do; of sparse gradients, the slices are clipped. None of them may be none.
// Errors: those of CheckClip().
absl::Status ClipGradients(const training::ClipSpec& spec, GraphBuilder& build,
                           std::vector<Gradient>* gradients);

}  // namespace tessera

// Writes SavedModels and MetaGraphs, which TensorFlow and this program load.
// Formats: docs/formats.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/session/saved_model_graph.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {

// A variable of a graph.
struct ExportedVariable {
  std::string node;  // of the op VarHandleOp, VariableV2 or Variable
  std::string key;   // in checkpoints; may be the same
};

// A file that the graph reads, such as a vocabulary.
struct ExportedAsset {
  std::string file;    // its last component names the copy in the folder of assets
  std::string tensor;  // string constant "node:0" that is fed with the path when the init op runs
};

// The contents of a meta graph besides its graph.
struct MetaGraphContents {
  std::vector<ExportedVariable> variables;  // those that checkpoints have
  // The signatures by their keys. Each has tensor_name, dtype and shape of inputs and outputs, and
  // method_name, which is that of predict if empty.
  std::map<std::string, Signature> signatures;
  std::set<std::string> tags = {"serve"};
  std::string init_node;  // run after the variables are restored: tables, ...; may be empty
  std::vector<ExportedAsset> assets;
  // Named lists for programs of TensorFlow 1, such as "trainable_variables".
  std::map<std::string, tensorflow::CollectionDef> collections;
};

// Returns a meta graph in the style of TensorFlow 1: a copy of `graph` (see ExportGraph()) with
// nodes under "save/" that save and restore the variables, and a SaverDef that tells of them.
// TensorFlow loads it, restores and saves variables with it: tf.saved_model.load,
// tf.compat.v1.saved_model.load and tf.compat.v1.train.import_meta_graph.
// Errors: INVALID_ARGUMENT for a variable, or a tensor of a signature or an asset, that the graph
// does not have, for two variables with one key, and for two files of one name among the assets.
absl::StatusOr<tensorflow::MetaGraphDef> MakeMetaGraph(const tensorflow::GraphDef& graph,
                                                       const MetaGraphContents& contents);

// Writes a file, by convention PREFIX.meta, for tf.compat.v1.train.import_meta_graph. Replaces one
// that is there. Errors: those of WriteFileAtomically(); RESOURCE_EXHAUSTED over 2 GB, which is
// more than a protocol buffer can hold.
absl::Status WriteMetaGraph(const std::string& path, const tensorflow::MetaGraphDef& meta_graph);

// Writes a SavedModel with one meta graph to `folder`, which appears complete, on the disk, or not
// at all. `variables` have the values by keys; `assets` are copied.
// Errors: ALREADY_EXISTS if `folder` is there; NOT_FOUND for a missing asset; those of
// WriteMetaGraph() and CheckpointWriter.
absl::Status WriteSavedModel(const std::string& folder, const tensorflow::MetaGraphDef& meta_graph,
                             absl::Span<const ExportedAsset> assets,
                             absl::Span<const SavedTensor> variables);

// Writes a SavedModel that is a copy of another one, assets and warm-up requests included, but for
// the values of the variables of these keys. Others keep their values. Object graphs stay as they
// are, and symbolic links become copies, see ReadDirectoryTree(). Errors: ALREADY_EXISTS if
// `folder` is there; INVALID_ARGUMENT, both shapes being named, for a key that the variables of
// `source` do not have, or have with another dtype or rank: extents that a variable leaves open may
// have grown; those of ReadDirectoryTree(), CheckpointReader and CheckpointWriter.
absl::Status CopySavedModel(const std::string& source, const std::string& folder,
                            absl::Span<const SavedTensor> variables);

}  // namespace tessera

// The folder in which Yggdrasil Decision Forests keeps a model, and with it TensorFlow Decision
// Forests and ydf. docs/formats.md describes the files.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/byte_source.h"
#include "yggdrasil_decision_forests/dataset/data_spec.pb.h"
#include "yggdrasil_decision_forests/model/abstract_model.pb.h"
#include "yggdrasil_decision_forests/model/decision_tree/decision_tree.pb.h"
#include "yggdrasil_decision_forests/model/gradient_boosted_trees/gradient_boosted_trees.pb.h"
#include "yggdrasil_decision_forests/model/random_forest/random_forest.pb.h"

namespace tessera {

namespace ygg = ::yggdrasil_decision_forests;

using RandomForestHeader = ygg::model::random_forest::proto::Header;
using BoostedTreesHeader = ygg::model::gradient_boosted_trees::proto::Header;
using TreeNode = ygg::model::decision_tree::proto::Node;

// Reads the nodes of all trees, in their order, from as many files as hold them.
// Used by one thread at a time.
class TreeNodeReader {
 public:
  // The files are named PREFIXnodes-00000-of-00003 and so on. `format` is "BLOB_SEQUENCE",
  // "BLOB_SEQUENCE_GZIP" or "TFE_RECORDIO". Errors: UNIMPLEMENTED for another format;
  // INVALID_ARGUMENT for a number of files below 0.
  static absl::StatusOr<TreeNodeReader> Open(std::string prefix, int num_files,
                                             absl::string_view format);

  // Reads the next node. Returns false at the end of the last file.
  // Errors: DATA_LOSS for bytes that are none; those of ByteSource. All name the file.
  absl::StatusOr<bool> Next(TreeNode* node);

 private:
  TreeNodeReader(std::string prefix, int num_files, bool has_blobs)
      : prefix_(std::move(prefix)), num_files_(num_files), has_blobs_(has_blobs) {}

  std::string path() const;
  absl::Status OpenFile();
  absl::StatusOr<bool> ReadBlob();

  std::string prefix_;
  int num_files_;
  bool has_blobs_;
  int file_ = 0;                              // the one that is read next, or read now
  std::unique_ptr<const std::string> bytes_;  // all of a file of blobs
  std::unique_ptr<ByteSource> source_;        // null between files
  std::string record_;
};

// The contents of a model's folder beside its nodes.
struct ForestFiles {
  std::string prefix;  // the path of the folder and the first part of the names in it
  ygg::model::proto::AbstractModel model;
  ygg::dataset::proto::DataSpecification data;
  std::variant<RandomForestHeader, BoostedTreesHeader> header;

  int64_t num_trees() const;
  absl::StatusOr<TreeNodeReader> OpenNodes() const;
};

// `file_prefix` is in front of the name of each file.
// Errors: NOT_FOUND; DATA_LOSS for a file that is none of its kind; UNIMPLEMENTED for a model of
// another kind.
absl::StatusOr<ForestFiles> ReadForestFiles(const std::string& folder,
                                            absl::string_view file_prefix);

}  // namespace tessera

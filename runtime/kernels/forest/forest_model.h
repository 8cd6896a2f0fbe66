// A model of decision trees: what its leaves say together.
//
// M. Guillame-Bert et al., Yggdrasil Decision Forests: A Fast and Extensible Decision Forests
// Library, KDD 2023.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/forest/forest.h"
#include "runtime/kernels/forest/forest_files.h"

namespace tessera {

// Immutable, and thus thread-safe.
class ForestModel {
 public:
  // Errors: those of ReadForestFiles() and BuildForest(); DATA_LOSS for leaves that do not fit the
  // task; UNIMPLEMENTED for a task that there is no forest for. All name the folder.
  static absl::StatusOr<std::shared_ptr<const ForestModel>> Load(const std::string& folder,
                                                                 absl::string_view file_prefix);

  const Forest& forest() const { return forest_; }
  // The number of predictions for an example: classes with their probabilities, treatments with
  // their effects, or one.
  int output_dim() const { return output_dim_; }
  // The names of classes, "logit" for the logarithm of their odds, and empty ones for all else.
  const std::vector<std::string>& output_names() const { return output_names_; }

  // Writes the predictions for examples [begin, end), a row of output_dim() for each.
  void Predict(const ForestInputs& inputs, int64_t begin, int64_t end, float* predictions) const;

 private:
  // How the trees' leaves make the sums.
  enum class Combination {
    kVotes,     // the value of a leaf is the sum that gets its tree's vote
    kAverages,  // a leaf has a value for each sum
    kTurns,     // tree i adds to sum i modulo their number
  };
  // The function that is applied to the sums.
  enum class Link { kNone, kSigmoid, kSoftmax, kExponential };

  explicit ForestModel(ForestFiles files) : files_(std::move(files)) {}

  absl::Status Init();
  absl::Status InitForest(const RandomForestHeader& header);
  absl::Status InitForest(const BoostedTreesHeader& header);
  // Sets the names of the outputs to the values of a column from `first` on.
  absl::Status NameOutputs(int column, int64_t first);
  absl::Status AddLeaf(const RandomForestHeader& header, const TreeNode& leaf);
  absl::Status AddDistribution(const TreeNode& leaf);

  void SumTree(size_t tree, uint32_t leaf, float* sums) const;
  void Finish(const float* sums, float* predictions) const;

  ForestFiles files_;  // emptied once the model is built
  Forest forest_;
  Combination combination_ = Combination::kAverages;
  Link link_ = Link::kNone;
  std::vector<float> leaf_values_;
  std::vector<float> first_sums_;  // what the sums begin with
  float scale_ = 1;                // of the sums
  int output_dim_ = 1;
  std::vector<std::string> output_names_;
};

}  // namespace tessera

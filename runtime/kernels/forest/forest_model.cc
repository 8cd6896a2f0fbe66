#include "runtime/kernels/forest/forest_model.h"

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/forest/forest_builder.h"

namespace tessera {
namespace {

using ygg::model::gradient_boosted_trees::proto::Loss;
using ygg::model::proto::Task;

// The limits of the exponent of a prediction of counts.
constexpr float kLargestExponent = 19;

// The most outputs of a model, which bounds what a damaged header takes.
constexpr int64_t kMostOutputs = 1 << 20;

absl::Status UnfitLeaf(absl::string_view needed) {
  return absl::DataLossError(absl::StrCat("a leaf has no ", needed));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ForestModel>> ForestModel::Load(
    const std::string& folder, absl::string_view file_prefix) {
  ASSIGN_OR_RETURN(ForestFiles files, ReadForestFiles(folder, file_prefix));
  const std::string prefix = files.prefix;
  const std::shared_ptr<ForestModel> model(new ForestModel(std::move(files)));
  RETURN_IF_ERROR(Annotate(model->Init(), absl::StrCat("decision forest ", prefix, ": ")));
  model->files_ = ForestFiles();
  return model;
}

absl::Status ForestModel::Init() {
  return std::visit([this](const auto& header) { return InitForest(header); }, files_.header);
}

absl::Status ForestModel::NameOutputs(int column, int64_t first) {
  if (column < 0 || column >= files_.data.columns_size()) {
    return absl::DataLossError(absl::StrCat("the outputs are the values of column ", column,
                                            ", there are ", files_.data.columns_size()));
  }
  const auto& values = files_.data.columns(column).categorical();
  const int64_t size = values.number_of_unique_values();
  if (size <= first || size - first > kMostOutputs) {
    return absl::DataLossError(absl::StrCat("column '", files_.data.columns(column).name(),
                                            "' has ", size, " values to predict"));
  }
  output_names_.resize(static_cast<size_t>(size - first));
  for (int64_t i = first; i < size; ++i) output_names_[i - first] = absl::StrCat(i);
  for (const auto& [name, value] : values.items()) {
    if (value.index() >= first && value.index() < size) output_names_[value.index() - first] = name;
  }
  output_dim_ = static_cast<int>(size - first);
  return absl::OkStatus();
}

absl::Status ForestModel::InitForest(const RandomForestHeader& header) {
  output_names_ = {""};
  switch (files_.model.task()) {
    case Task::CLASSIFICATION:
      RETURN_IF_ERROR(NameOutputs(files_.model.label_col_idx(), 1));
      if (header.winner_take_all_inference()) combination_ = Combination::kVotes;
      break;
    case Task::CATEGORICAL_UPLIFT:
    case Task::NUMERICAL_UPLIFT: {
      // The first treatment is none, and effects have no names.
      RETURN_IF_ERROR(NameOutputs(files_.model.uplift_treatment_col_idx(), 2));
      output_names_.assign(output_names_.size(), "");
      break;
    }
    case Task::REGRESSION:
      break;
    default:
      return absl::UnimplementedError(absl::StrCat(
          "a random forest for task ", ygg::model::proto::Task_Name(files_.model.task())));
  }
  first_sums_.assign(static_cast<size_t>(output_dim_), 0);
  ASSIGN_OR_RETURN(
      forest_, BuildForest(files_, [&](const TreeNode& leaf) { return AddLeaf(header, leaf); }));
  if (!forest_.trees.empty()) scale_ = 1 / static_cast<float>(forest_.trees.size());
  return absl::OkStatus();
}

absl::Status ForestModel::AddLeaf(const RandomForestHeader& header, const TreeNode& leaf) {
  switch (files_.model.task()) {
    case Task::CLASSIFICATION: {
      if (!leaf.has_classifier()) return UnfitLeaf("class");
      if (!header.winner_take_all_inference()) return AddDistribution(leaf);
      const int32_t top = leaf.classifier().top_value();
      if (top < 1 || top > output_dim_) {
        return absl::DataLossError(
            absl::StrCat("a leaf votes for class ", top, " of ", output_dim_));
      }
      leaf_values_.push_back(static_cast<float>(top - 1));
      return absl::OkStatus();
    }
    case Task::REGRESSION:
      if (!leaf.has_regressor()) return UnfitLeaf("number");
      leaf_values_.push_back(leaf.regressor().top_value());
      return absl::OkStatus();
    default: {
      const auto& effects = leaf.uplift().treatment_effect();
      if (effects.size() != output_dim_) return UnfitLeaf("effect for each treatment");
      leaf_values_.insert(leaf_values_.end(), effects.begin(), effects.end());
      return absl::OkStatus();
    }
  }
}

absl::Status ForestModel::AddDistribution(const TreeNode& leaf) {
  const auto& distribution = leaf.classifier().distribution();
  if (distribution.counts_size() != output_dim_ + 1) return UnfitLeaf("count for each class");
  for (int i = 1; i <= output_dim_; ++i) {
    leaf_values_.push_back(distribution.sum() > 0
                               ? static_cast<float>(distribution.counts(i) / distribution.sum())
                               : 0);
  }
  return absl::OkStatus();
}

absl::Status ForestModel::InitForest(const BoostedTreesHeader& header) {
  output_names_ = {""};
  combination_ = Combination::kTurns;
  first_sums_.assign(header.initial_predictions().begin(), header.initial_predictions().end());
  const int num_sums = header.num_trees_per_iter();
  if (num_sums < 1 || header.initial_predictions_size() != num_sums) {
    return absl::DataLossError(absl::StrCat("trees add to ", num_sums, " sums, of which ",
                                            header.initial_predictions_size(),
                                            " have a first value"));
  }
  switch (files_.model.task()) {
    case Task::CLASSIFICATION:
      RETURN_IF_ERROR(NameOutputs(files_.model.label_col_idx(), 1));
      if (num_sums == 1 && output_dim_ == 2) {
        if (header.output_logits()) {
          output_dim_ = 1;
          output_names_ = {"logit"};
        } else {
          link_ = Link::kSigmoid;
        }
      } else if (num_sums != output_dim_) {
        return absl::DataLossError(
            absl::StrCat("there are ", num_sums, " sums for ", output_dim_, " classes"));
      } else if (!header.output_logits()) {
        link_ = Link::kSoftmax;
      }
      break;
    case Task::REGRESSION:
    case Task::RANKING:
    case Task::SURVIVAL_ANALYSIS:
      if (num_sums != 1) {
        return absl::DataLossError(absl::StrCat("there are ", num_sums, " sums for one output"));
      }
      if (header.loss() == Loss::POISSON && !header.output_logits()) link_ = Link::kExponential;
      break;
    default:
      return absl::UnimplementedError(absl::StrCat(
          "boosted trees for task ", ygg::model::proto::Task_Name(files_.model.task())));
  }
  ASSIGN_OR_RETURN(forest_, BuildForest(files_, [&](const TreeNode& leaf) {
                     if (!leaf.has_regressor()) return UnfitLeaf("number");
                     leaf_values_.push_back(leaf.regressor().top_value());
                     return absl::OkStatus();
                   }));
  return absl::OkStatus();
}

void ForestModel::SumTree(size_t tree, uint32_t leaf, float* sums) const {
  switch (combination_) {
    case Combination::kVotes:
      sums[static_cast<size_t>(leaf_values_[leaf])] += 1;
      return;
    case Combination::kAverages: {
      const size_t width = first_sums_.size();
      for (size_t k = 0; k < width; ++k) sums[k] += leaf_values_[leaf * width + k];
      return;
    }
    case Combination::kTurns:
      sums[tree % first_sums_.size()] += leaf_values_[leaf];
      return;
  }
}

void ForestModel::Finish(const float* sums, float* predictions) const {
  const size_t count = first_sums_.size();
  switch (link_) {
    case Link::kNone:
      for (size_t k = 0; k < count; ++k) predictions[k] = sums[k] * scale_;
      return;
    case Link::kSigmoid: {
      const float probability = 1 / (1 + std::exp(-sums[0]));
      predictions[0] = 1 - probability;
      predictions[1] = probability;
      return;
    }
    case Link::kSoftmax: {
      const float largest = *std::max_element(sums, sums + count);
      float total = 0;
      for (size_t k = 0; k < count; ++k) total += predictions[k] = std::exp(sums[k] - largest);
      for (size_t k = 0; k < count; ++k) predictions[k] /= total;
      return;
    }
    case Link::kExponential:
      predictions[0] = std::exp(std::clamp(sums[0], -kLargestExponent, kLargestExponent));
      return;
  }
}

void ForestModel::Predict(const ForestInputs& inputs, int64_t begin, int64_t end,
                          float* predictions) const {
  const size_t num_trees = forest_.trees.size();
  std::vector<uint32_t> leaves(num_trees *
                               static_cast<size_t>(std::min(Forest::kBlock, end - begin)));
  absl::InlinedVector<float, 8> sums(first_sums_.size());
  for (int64_t first = begin; first < end; first += Forest::kBlock) {
    const int64_t last = std::min(first + Forest::kBlock, end);
    forest_.FindLeaves(inputs, first, last, leaves.data());
    for (int64_t i = first; i < last; ++i) {
      const uint32_t* const row = leaves.data() + (i - first) * static_cast<int64_t>(num_trees);
      std::copy(first_sums_.begin(), first_sums_.end(), sums.begin());
      for (size_t t = 0; t < num_trees; ++t) SumTree(t, row[t], sums.data());
      Finish(sums.data(), predictions + (i - begin) * output_dim_);
    }
  }
}

}  // namespace tessera

// SdcaOptimizer, SdcaOptimizerV2: one sweep of stochastic dual coordinate ascent over a batch, for
// linear models with L1 and L2 regularisation.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/philox.h"
#include "runtime/kernels/training/sdca_loss.h"

namespace tessera {
namespace {

// The part of an example that lies in one group of sparse features: columns of the group's weights,
// and their values, each 1 if `values` is null.
struct SparsePart {
  std::vector<int64_t> columns;
  const float* values = nullptr;

  double value(size_t i) const { return values == nullptr ? 1.0 : values[i]; }
};

// A group of features with its weights, and the change of the weights that the op puts out.
struct SparseGroup {
  const float* weights;
  float* deltas;
  std::vector<SparsePart> parts;  // by example
};
struct DenseGroup {
  const float* weights;
  float* deltas;
  const float* rows;  // by example
  int64_t size;
};

struct Batch {
  std::vector<SparseGroup> sparse;
  std::vector<DenseGroup> dense;
  std::vector<double> squared_norms;  // by example
};

// The model's answers for one example.
struct Answers {
  double before = 0;  // by the weights that the op was given
  double now = 0;     // by those that the examples so far have made
};

class SdcaOptimizerKernel final : public OpKernel {
 public:
  explicit SdcaOptimizerKernel(const KernelBuild& build)
      : loss_(SdcaLoss::Find(build.attr<std::string>("loss_type"))),
        is_adaptive_(build.attr<bool>(build.has_attr("adaptive") ? "adaptive" : "adaptative")),
        l2_(build.attr<float>("l2")),
        shrinkage_(build.attr<float>("l1") / l2_),
        num_partitions_(static_cast<double>(build.attr<int64_t>("num_loss_partitions"))),
        example_indices_(build.inputs("sparse_example_indices")),
        feature_indices_(build.inputs("sparse_feature_indices")),
        feature_values_(build.inputs("sparse_feature_values")),
        dense_features_(build.inputs("dense_features")),
        sparse_indices_(build.inputs("sparse_indices")),
        sparse_weights_(build.inputs("sparse_weights")),
        dense_weights_(build.inputs("dense_weights")),
        example_weights_(build.inputs("example_weights").begin),
        labels_(build.inputs("example_labels").begin),
        state_(build.inputs("example_state_data").begin),
        sparse_deltas_(build.outputs("out_delta_sparse_weights").begin),
        dense_deltas_(build.outputs("out_delta_dense_weights").begin) {
    if (loss_ == nullptr) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("Unsupported loss type: ", build.attr<std::string>("loss_type"))));
    }
    if (example_indices_.size() + dense_features_.size() == 0) {
      build.Fail(absl::InvalidArgumentError("Requires at least one feature to train."));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const int64_t count = ctx.input(example_weights_).num_elements();
    if (ctx.input(labels_).num_elements() != count) {
      return absl::InvalidArgumentError(absl::StrCat("Expected ", count, " example labels but got ",
                                                     ctx.input(labels_).num_elements()));
    }
    Batch batch;
    batch.squared_norms.resize(count);
    RETURN_IF_ERROR(ReadSparse(ctx, count, &batch));
    RETURN_IF_ERROR(ReadDense(ctx, count, &batch));
    const Tensor& state = ctx.input(state_);
    if (state.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("example_state_data must be rank 2 but is rank ", state.rank()));
    }
    if (state.dim(0) != count || state.dim(1) != kStateSize) {
      return absl::InvalidArgumentError(absl::StrCat("Expected shape [", count, ",4] for ",
                                                     "example_state_data, got ",
                                                     state.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const new_state, ctx.AllocateOutput(0, state.shape()));
    std::copy_n(state.data<float>(), state.num_elements(), new_state->data<float>());
    std::vector<float> labels(ctx.input(labels_).data<float>(),
                              ctx.input(labels_).data<float>() + count);
    for (float& label : labels) RETURN_IF_ERROR(loss_->ConvertLabel(&label));
    const float* const weights = ctx.input(example_weights_).data<float>();
    float* const states = new_state->data<float>();
    for (const int64_t i : Order(batch, labels.data(), weights, states)) {
      Ascend(batch, i, labels[i], weights[i], states + i * kStateSize);
    }
    return absl::OkStatus();
  }

 private:
  // An example's row of the state: its dual variable, its primal and its dual loss, its weight.
  static constexpr int64_t kStateSize = 4;

  // Proximal step for the L1 regularisation.
  double Shrink(double weight) const {
    return std::copysign(std::max(std::abs(weight) - shrinkage_, 0.0), weight);
  }

  // Errors: INVALID_ARGUMENT for inputs whose sizes do not fit each other, for a feature without a
  // weight, and for one that an example has twice.
  absl::Status ReadSparse(KernelContext& ctx, int64_t count, Batch* batch) const {
    for (int g = 0; g < example_indices_.size(); ++g) {
      const Tensor& indices = ctx.input(sparse_indices_.begin + g);
      const Tensor& weights = ctx.input(sparse_weights_.begin + g);
      if (indices.num_elements() != weights.num_elements()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sparse_indices and sparse_weights of group ", g, " have ", indices.num_elements(),
            " and ", weights.num_elements(), " elements, must have the same number"));
      }
      ASSIGN_OR_RETURN(float* const deltas, ZeroDeltas(ctx, sparse_deltas_ + g, weights.shape()));
      SparseGroup& group = batch->sparse.emplace_back(
          SparseGroup{weights.data<float>(), deltas, std::vector<SparsePart>(count)});
      absl::flat_hash_map<int64_t, int64_t> column_of;
      for (int64_t i = 0; i < indices.num_elements(); ++i) {
        column_of[indices.data<int64_t>()[i]] = i;
      }
      RETURN_IF_ERROR(ReadParts(ctx, g, column_of, &group, &batch->squared_norms));
    }
    return absl::OkStatus();
  }

  // The features of an example stand together, and the examples in order. TensorFlow passes over
  // what stands out of order, and so does this.
  absl::Status ReadParts(KernelContext& ctx, int g,
                         const absl::flat_hash_map<int64_t, int64_t>& column_of, SparseGroup* group,
                         std::vector<double>* squared_norms) const {
    const Tensor& examples = ctx.input(example_indices_.begin + g);
    const Tensor& features = ctx.input(feature_indices_.begin + g);
    const bool has_values = g < feature_values_.size();
    if (examples.num_elements() != features.num_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Found mismatched example_indices and feature_indices of group ", g, ": ",
                       examples.num_elements(), " and ", features.num_elements(), " elements"));
    }
    const float* values = nullptr;
    if (has_values) {
      const Tensor& tensor = ctx.input(feature_values_.begin + g);
      if (tensor.num_elements() != features.num_elements()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sparse_feature_values of group ", g, " has ", tensor.num_elements(),
            " elements, must have one for each of ", features.num_elements(), " features"));
      }
      values = tensor.data<float>();
    }
    const int64_t size = examples.num_elements();
    int64_t at = 0;
    absl::flat_hash_set<int64_t> seen;
    for (size_t example = 0; example < group->parts.size(); ++example) {
      SparsePart& part = group->parts[example];
      if (has_values) part.values = values + at;
      seen.clear();
      for (; at < size && examples.data<int64_t>()[at] == static_cast<int64_t>(example); ++at) {
        const int64_t feature = features.data<int64_t>()[at];
        const auto column = column_of.find(feature);
        if (column == column_of.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("Found sparse feature indices out of valid range: ", feature));
        }
        if (!seen.insert(feature).second) {
          return absl::InvalidArgumentError("Duplicate index in sparse vector.");
        }
        part.columns.push_back(column->second);
        const double value = has_values ? values[at] : 1.0;
        (*squared_norms)[example] += value * value;
      }
    }
    return absl::OkStatus();
  }

  // Errors: INVALID_ARGUMENT unless each group is a matrix with a row for each example, and a
  // column, of which there must be one at least, for each weight.
  absl::Status ReadDense(KernelContext& ctx, int64_t count, Batch* batch) const {
    for (int g = 0; g < dense_features_.size(); ++g) {
      const Tensor& features = ctx.input(dense_features_.begin + g);
      const Tensor& weights = ctx.input(dense_weights_.begin + g);
      if (features.rank() != 2) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Dense features at index ", g, " must be rank 2 but is rank ", features.rank()));
      }
      const int64_t size = features.dim(1);
      if (size == 0 || size > weights.num_elements()) {
        return absl::InvalidArgumentError(
            absl::StrCat("More dense features than we have parameters for: ", size));
      }
      if (size != weights.num_elements() || features.dim(0) != count) {
        return absl::InvalidArgumentError(
            absl::StrCat("Dense features at index ", g, " have shape ", features.shape().ToString(),
                         " for ", count, " examples and ", weights.num_elements(), " weights"));
      }
      ASSIGN_OR_RETURN(float* const deltas, ZeroDeltas(ctx, dense_deltas_ + g, weights.shape()));
      batch->dense.push_back({weights.data<float>(), deltas, features.data<float>(), size});
      for (int64_t i = 0; i < count; ++i) {
        const float* const row = features.data<float>() + i * size;
        batch->squared_norms[i] += std::inner_product(row, row + size, row, 0.0f);
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<float*> ZeroDeltas(KernelContext& ctx, int output, const Shape& shape) {
    ASSIGN_OR_RETURN(Tensor* const deltas, ctx.AllocateOutput(output, shape));
    std::fill_n(deltas->data<float>(), deltas->num_elements(), 0.0f);
    return deltas->data<float>();
  }

  Answers AnswersFor(const Batch& batch, int64_t example) const {
    Answers answers;
    for (const SparseGroup& group : batch.sparse) {
      const SparsePart& part = group.parts[example];
      for (size_t i = 0; i < part.columns.size(); ++i) {
        const int64_t column = part.columns[i];
        const double weight = group.weights[column];
        answers.before += part.value(i) * Shrink(weight);
        answers.now += part.value(i) * Shrink(weight + group.deltas[column] * num_partitions_);
      }
    }
    for (const DenseGroup& group : batch.dense) {
      const float* const row = group.rows + example * group.size;
      for (int64_t i = 0; i < group.size; ++i) {
        const double weight = group.weights[i];
        answers.before += row[i] * Shrink(weight);
        answers.now += row[i] * Shrink(weight + group.deltas[i] * num_partitions_);
      }
    }
    return answers;
  }

  // Maximises the dual objective by the example's dual variable.
  void Ascend(const Batch& batch, int64_t example, float label, float weight, float* state) const {
    const Answers answers = AnswersFor(batch, example);
    const double dual = state[0];
    const double curvature = num_partitions_ * (batch.squared_norms[example] / l2_) * weight;
    const double new_dual = loss_->UpdatedDual(label, dual, answers.now, curvature);
    const double step = (new_dual - dual) * weight / l2_;
    for (const SparseGroup& group : batch.sparse) {
      const SparsePart& part = group.parts[example];
      for (size_t i = 0; i < part.columns.size(); ++i) {
        float& delta = group.deltas[part.columns[i]];
        delta = static_cast<float>(delta + part.value(i) * step);
      }
    }
    for (const DenseGroup& group : batch.dense) {
      const float* const row = group.rows + example * group.size;
      const float scale = static_cast<float>(step);
      for (int64_t i = 0; i < group.size; ++i) group.deltas[i] += row[i] * scale;
    }
    state[0] = static_cast<float>(new_dual);
    state[1] = static_cast<float>(loss_->PrimalLoss(answers.before, label, weight));
    state[2] = static_cast<float>(loss_->DualLoss(dual, label, weight));
    state[3] = weight;
  }

  // Returns the examples in the order in which they are visited: all of them, shuffled; or, if the
  // op is adaptive, those with a large expected gain, perhaps more than once. TensorFlow takes its
  // order from the system's entropy; this one is the same in every session.
  std::vector<int64_t> Order(const Batch& batch, const float* labels, const float* weights,
                             const float* states) {
    PhiloxStream random(Philox(/*seed=*/0, runs_.fetch_add(1, std::memory_order_relaxed)));
    const auto count = static_cast<int64_t>(batch.squared_norms.size());
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (is_adaptive_) {
      std::vector<double> gains(count);
      for (int64_t i = 0; i < count; ++i) {
        const double residual =
            states[i * kStateSize] + loss_->PrimalDerivative(AnswersFor(batch, i).now, labels[i]);
        gains[i] = weights[i] * std::sqrt(batch.squared_norms[i] + l2_ * loss_->Smoothness()) *
                   std::abs(residual);
      }
      return Sample(gains, &random);
    }
    for (int64_t i = count - 1; i > 0; --i) {
      std::swap(order[i], order[random.Next() % static_cast<uint64_t>(i + 1)]);
    }
    return order;
  }

  // Returns as many examples as there are gains, drawn with probabilities that are proportional to
  // these and fall to a tenth with each draw. After as many rejected draws as there are examples,
  // those that were not drawn follow, the largest gain first.
  static std::vector<int64_t> Sample(const std::vector<double>& gains, PhiloxStream* random) {
    const auto count = static_cast<int64_t>(gains.size());
    std::vector<double> sums(count);
    std::partial_sum(gains.begin(), gains.end(), sums.begin());
    const auto uniform = [&] { return random->Next() * 0x1p-32; };
    std::vector<int64_t> order;
    std::vector<int> times(count, 0);
    // Without a gain, or with one that is not finite, there is nothing to draw by.
    const bool is_drawable = count > 0 && sums.back() > 0 && std::isfinite(sums.back());
    for (int64_t retries = is_drawable ? 0 : count;
         static_cast<int64_t>(order.size()) < count && retries < count;) {
      const auto drawn = std::upper_bound(sums.begin(), sums.end(), uniform() * sums.back());
      const int64_t i = std::min<int64_t>(drawn - sums.begin(), count - 1);
      if (uniform() > std::pow(0.1, times[i])) {
        ++retries;
        continue;
      }
      ++times[i];
      order.push_back(i);
    }
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < count; ++i) {
      if (times[i] == 0) rest.push_back(i);
    }
    // A NaN is no gain at all: the order must be a strict one.
    const auto gain = [&](int64_t i) { return std::isnan(gains[i]) ? 0.0 : gains[i]; };
    std::stable_sort(rest.begin(), rest.end(),
                     [&](int64_t a, int64_t b) { return gain(a) > gain(b); });
    const auto missing = static_cast<int64_t>(count - order.size());
    rest.resize(std::min<int64_t>(missing, static_cast<int64_t>(rest.size())));
    order.insert(order.end(), rest.begin(), rest.end());
    return order;
  }

  const SdcaLoss* const loss_;
  const bool is_adaptive_;
  const float l2_;
  const double shrinkage_;
  const double num_partitions_;
  const ArgRange example_indices_, feature_indices_, feature_values_, dense_features_;
  const ArgRange sparse_indices_, sparse_weights_, dense_weights_;
  const int example_weights_, labels_, state_;  // positions of inputs
  const int sparse_deltas_, dense_deltas_;      // positions of the first outputs
  std::atomic<uint64_t> runs_{0};
};
REGISTER_KERNEL("SdcaOptimizer", kCpu, SdcaOptimizerKernel);
REGISTER_KERNEL("SdcaOptimizerV2", kCpu, SdcaOptimizerKernel);

}  // namespace
}  // namespace tessera

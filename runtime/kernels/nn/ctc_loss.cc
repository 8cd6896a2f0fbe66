// CTCLoss: the negative log probability of the labels, over all their alignments with the logits,
// and its gradient (A. Graves et al., Connectionist temporal classification, 2006).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

double LogSum(double a, double b) {
  if (a == kLogZero) return b;
  if (b == kLogZero) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

// The alignments of one label sequence: its labels with blanks between them and at both ends. Step
// by step a path stays at its place, goes on to the next, or skips a blank between two labels.
class Alignment {
 public:
  Alignment(const std::vector<int64_t>& labels, int64_t blank, bool merge_repeated)
      : blank_(blank), merge_repeated_(merge_repeated), places_(2 * labels.size() + 1, blank) {
    for (size_t i = 0; i < labels.size(); ++i) places_[2 * i + 1] = labels[i];
  }

  size_t size() const { return places_.size(); }
  int64_t label(size_t place) const { return places_[place]; }

  // Log probabilities of all beginnings that are at a place after a step, that step included.
  // `log_y[t]` holds the log probabilities of the classes.
  std::vector<std::vector<double>> Forward(const std::vector<std::vector<double>>& log_y) const {
    std::vector<std::vector<double>> alpha(log_y.size(), std::vector<double>(size(), kLogZero));
    for (size_t t = 0; t < log_y.size(); ++t) {
      for (size_t u = 0; u < size(); ++u) {
        double sum = t == 0 && u < 2 ? 0 : kLogZero;
        if (t > 0) {
          if (MayStay(u)) sum = alpha[t - 1][u];
          if (u > 0) sum = LogSum(sum, alpha[t - 1][u - 1]);
          if (u > 1 && MaySkipTo(u)) sum = LogSum(sum, alpha[t - 1][u - 2]);
        }
        alpha[t][u] = sum + log_y[t][label(u)];
      }
    }
    return alpha;
  }

  // Log probabilities of all ends that follow a place after a step, that step excluded.
  std::vector<std::vector<double>> Backward(const std::vector<std::vector<double>>& log_y) const {
    std::vector<std::vector<double>> beta(log_y.size(), std::vector<double>(size(), kLogZero));
    for (size_t t = log_y.size(); t-- > 0;) {
      for (size_t u = 0; u < size(); ++u) {
        if (t + 1 == log_y.size()) {
          if (u + 2 >= size()) beta[t][u] = 0;
          continue;
        }
        double sum = kLogZero;
        auto add = [&](size_t next) {
          sum = LogSum(sum, beta[t + 1][next] + log_y[t + 1][label(next)]);
        };
        if (MayStay(u)) add(u);
        if (u + 1 < size()) add(u + 1);
        if (u + 2 < size() && MaySkipTo(u + 2)) add(u + 2);
        beta[t][u] = sum;
      }
    }
    return beta;
  }

 private:
  bool MayStay(size_t u) const { return merge_repeated_ || label(u) == blank_; }
  bool MaySkipTo(size_t u) const {
    return label(u) != blank_ && !(merge_repeated_ && label(u) == label(u - 2));
  }

  const int64_t blank_;
  const bool merge_repeated_;
  std::vector<int64_t> places_;
};

// Inputs: logits [time, batch, classes], the last of which is the blank; labels as a sparse matrix;
// the length of each sequence. Outputs the losses, and their gradients by the logits.
class CtcLossKernel : public OpKernel {
 public:
  explicit CtcLossKernel(const KernelBuild& build)
      : collapse_repeated_(build.attr<bool>("preprocess_collapse_repeated")),
        merge_repeated_(build.attr<bool>("ctc_merge_repeated")),
        ignore_longer_(build.attr<bool>("ignore_longer_outputs_than_inputs")) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckShapes(ctx));
    const Tensor& logits = ctx.input(0);
    const int64_t batch = logits.dim(1), classes = logits.dim(2);
    const auto lengths = ctx.input(3).flat<int32_t>();
    ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> labels, ReadLabels(ctx, batch));
    for (int64_t b = 0; b < batch; ++b) {
      RETURN_IF_ERROR(Preprocess(b, classes, lengths[b], &labels[b]));
    }
    ASSIGN_OR_RETURN(Tensor* const loss, ctx.AllocateOutput(0, Shape{batch}));
    ASSIGN_OR_RETURN(Tensor* const gradient, ctx.AllocateOutput(1, logits.shape()));
    std::fill_n(gradient->mutable_raw(), gradient->size_bytes(), 0);
    return VisitRealType(logits.dtype(), [&]<typename T>() {
      const double cost = 60.0 * static_cast<double>(logits.dim(0) * classes);
      ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          loss->data<T>()[b] =
              static_cast<T>(Sequence(logits.data<T>() + b * classes, lengths[b], batch * classes,
                                      classes, labels[b], gradient->data<T>() + b * classes));
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  static absl::Status CheckShapes(const KernelContext& ctx) {
    const Shape& logits = ctx.input(0).shape();
    const Shape& indices = ctx.input(1).shape();
    const Shape& values = ctx.input(2).shape();
    const Shape& lengths = ctx.input(3).shape();
    if (logits.rank() != 3 || indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        indices.dim(0) != values.dim(0) || !(lengths == Shape{logits.dim(1)})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CTCLoss needs inputs [time, batch, classes], labels_indices [n, 2], labels_values [n] "
          "and sequence_length [batch]; they have shapes ",
          logits.ToString(), ", ", indices.ToString(), ", ", values.ToString(), ", ",
          lengths.ToString()));
    }
    if (logits.dim(1) == 0 || logits.dim(2) == 0) {
      return absl::InvalidArgumentError("the batch and the classes must not be empty");
    }
    for (const int32_t length : ctx.input(3).flat<int32_t>()) {
      if (length < 0 || length > logits.dim(0)) {
        return absl::InvalidArgumentError(absl::StrCat("sequence_length(b) <= ", logits.dim(0),
                                                       " and not negative is needed, one is ",
                                                       length));
      }
    }
    return absl::OkStatus();
  }

  // The labels of each sequence in the order of their columns.
  static absl::StatusOr<std::vector<std::vector<int64_t>>> ReadLabels(const KernelContext& ctx,
                                                                      int64_t batch) {
    std::vector<std::vector<int64_t>> labels(batch);
    const auto indices = ctx.input(1).flat<int64_t>();
    const auto values = ctx.input(2).flat<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t b = indices[2 * i];
      if (b < 0 || b >= batch) {
        return absl::InvalidArgumentError(
            absl::StrCat("labels_indices[", i, "] names sequence ", b, " of ", batch));
      }
      const int64_t column = indices[2 * i + 1];
      const bool is_ordered = i == 0 || b > indices[2 * i - 2] ||
                              (b == indices[2 * i - 2] && column > indices[2 * i - 1]);
      if (column < 0 || !is_ordered) {
        return absl::InvalidArgumentError(
            absl::StrCat("labels_indices[", i, "] = [", b, ",", column,
                         "] is negative, or not behind the one before it"));
      }
      labels[b].push_back(values[i]);
    }
    return labels;
  }

  absl::Status Preprocess(int64_t b, int64_t classes, int64_t steps,
                          std::vector<int64_t>* labels) const {
    const int64_t given = static_cast<int64_t>(labels->size());
    if (given == 0) {
      return absl::InvalidArgumentError(absl::StrCat("Labels length is zero in batch ", b));
    }
    std::vector<int64_t> kept;
    bool ended = false;
    for (int64_t i = 0; i < given; ++i) {
      const int64_t label = (*labels)[i];
      if (i > 0 && collapse_repeated_ && label == (*labels)[i - 1]) continue;
      if (label >= classes - 1) {
        ended = true;
      } else if (ended) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Saw a non-null label (index >= num_classes - 1) following a null label, batch: ", b,
            " num_classes: ", classes));
      } else if (label < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("All labels must be nonnegative integers, batch: ", b, " has ", label));
      } else {
        kept.push_back(label);
      }
    }
    if (!ignore_longer_ && given > steps) {
      return absl::InvalidArgumentError(
          absl::StrCat("Not enough time for target transition sequence (required: ", given,
                       ", available: ", steps, ") in batch ", b,
                       ". You can turn this error into a warning by using the flag "
                       "ignore_longer_outputs_than_inputs"));
    }
    *labels = std::move(kept);
    return absl::OkStatus();
  }

  // Returns the loss of one sequence. Its steps are `stride` elements apart.
  template <typename T>
  double Sequence(const T* logits, int64_t steps, int64_t stride, int64_t classes,
                  const std::vector<int64_t>& labels, T* gradient) const {
    if (steps == 0) return 0;
    std::vector<std::vector<double>> log_y(steps);
    for (int64_t t = 0; t < steps; ++t) {
      log_y[t].assign(logits + t * stride, logits + t * stride + classes);
      const double largest = *std::max_element(log_y[t].begin(), log_y[t].end());
      double sum = 0;
      for (const double x : log_y[t]) sum += std::exp(x - largest);
      for (double& x : log_y[t]) x -= largest + std::log(sum);
    }
    const Alignment alignment(labels, classes - 1, merge_repeated_);
    const auto alpha = alignment.Forward(log_y);
    const auto beta = alignment.Backward(log_y);
    double log_p = kLogZero;
    for (size_t u = 0; u < alignment.size(); ++u) {
      log_p = LogSum(log_p, alpha[0][u] + beta[0][u]);
    }
    std::vector<double> log_sums(classes);
    for (int64_t t = 0; t < steps; ++t) {
      std::fill(log_sums.begin(), log_sums.end(), kLogZero);
      for (size_t u = 0; u < alignment.size(); ++u) {
        double& sum = log_sums[alignment.label(u)];
        sum = LogSum(sum, alpha[t][u] + beta[t][u]);
      }
      for (int64_t c = 0; c < classes; ++c) {
        // Without any path the gradient is that of the softmax alone.
        const double share = log_p == kLogZero ? 0 : std::exp(log_sums[c] - log_p);
        gradient[t * stride + c] = static_cast<T>(std::exp(log_y[t][c]) - share);
      }
    }
    return -log_p;
  }

  const bool collapse_repeated_, merge_repeated_, ignore_longer_;
};
REGISTER_KERNEL("CTCLoss", kCpu, CtcLossKernel);

}  // namespace
}  // namespace tessera

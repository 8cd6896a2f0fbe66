// CTCLoss: the negative log probability of the labels, over all their alignments with the logits,
// and its gradient (A. Graves et al., Connectionist temporal classification, 2006).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/math/vector_functions.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The logarithm of an impossible beginning or end of a path: a number, which sums of logarithms of
// probabilities do not change, because loops over infinities would have to look at each.
constexpr double kLogZero = -1e300;
bool IsImpossible(double log) { return log < 0.1 * kLogZero; }

// exp(x), where what is too small for a term beside a 1 may be any number that is.
inline double ExpOfTerm(double x) { return std::exp(x < -700 ? -700 : x); }
// exp(x), and 0 where that is next to nothing.
inline double ExpOrZero(double x) {
  const double e = ExpOfTerm(x);
  return x < -700 ? 0 : e;
}

[[gnu::always_inline]] inline double LogSum(double a, double b, double c) {
  double largest = a < b ? b : a;
  largest = largest < c ? c : largest;
  largest = largest < kLogZero ? kLogZero : largest;
  return largest +
         std::log(ExpOfTerm(a - largest) + ExpOfTerm(b - largest) + ExpOfTerm(c - largest));
}

// The alignments of one label sequence: its labels with blanks between them and at both ends. Step
// by step a path stays at its place, goes on to the next, or skips a blank between two labels.
// Arrays of a number for each place have room for two more behind it.
class Alignment {
 public:
  Alignment(const std::vector<int64_t>& labels, int64_t blank, bool merge_repeated)
      : places_(2 * labels.size() + 1, blank),
        stay_(places_.size(), 0),
        skip_(places_.size() + 2, kLogZero) {
    for (size_t i = 0; i < labels.size(); ++i) {
      places_[2 * i + 1] = labels[i];
      if (!merge_repeated) stay_[2 * i + 1] = kLogZero;
      const bool is_repeated = i > 0 && labels[i] == labels[i - 1];
      if (i > 0 && !(merge_repeated && is_repeated)) skip_[2 * i + 1] = 0;
    }
  }

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  int64_t label(int64_t place) const { return places_[place]; }

  // Sets `alpha` to the log probabilities of all beginnings that are at a place after the first
  // step, or after the one that follows `before`. `log_y` holds those of the classes in that step.
  void Begin(const double* log_y, double* alpha) const {
    std::fill_n(alpha, size() + 2, kLogZero);
    for (int64_t u = 0; u < std::min<int64_t>(2, size()); ++u) alpha[u] = log_y[label(u)];
  }
  void Forward(const double* before, const double* log_y, double* emitted, double* alpha) const {
    Gather(log_y, emitted);
    const double* const stay = stay_.data();
    const double* const skip = skip_.data();
    for (int64_t u = 0; u < std::min<int64_t>(2, size()); ++u) {
      alpha[u] =
          LogSum(before[u] + stay[u], u > 0 ? before[u - 1] : kLogZero, kLogZero) + emitted[u];
    }
#pragma GCC ivdep
    for (int64_t u = 2; u < size(); ++u) {
      alpha[u] = LogSum(before[u] + stay[u], before[u - 1], before[u - 2] + skip[u]) + emitted[u];
    }
  }

  // Sets `beta` to the log probabilities of all ends that follow a place after the last step, or
  // after the one before `after`. `log_y` holds those of the classes in the step of `after`.
  void End(double* beta) const {
    std::fill_n(beta, size() + 2, kLogZero);
    for (int64_t u = std::max<int64_t>(0, size() - 2); u < size(); ++u) beta[u] = 0;
  }
  void Backward(const double* after, const double* log_y, double* emitted, double* beta) const {
    Gather(log_y, emitted);
    for (int64_t u = 0; u < size(); ++u) emitted[u] += after[u];
    const double* const stay = stay_.data();
    const double* const skip = skip_.data();
#pragma GCC ivdep
    for (int64_t u = 0; u < size(); ++u) {
      beta[u] = LogSum(emitted[u] + stay[u], emitted[u + 1], emitted[u + 2] + skip[u + 2]);
    }
  }

 private:
  void Gather(const double* log_y, double* emitted) const {
    for (int64_t u = 0; u < size(); ++u) emitted[u] = log_y[label(u)];
    emitted[size()] = emitted[size() + 1] = kLogZero;
  }

  std::vector<int64_t> places_;
  std::vector<double> stay_, skip_;  // kLogZero where a path must not do that, otherwise 0
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
    // A sequence with more labels than steps has neither a loss nor a gradient, as if it were
    // empty.
    std::vector<int64_t> steps(batch);
    for (int64_t b = 0; b < batch; ++b) {
      steps[b] = static_cast<int64_t>(labels[b].size()) > lengths[b] ? 0 : lengths[b];
      RETURN_IF_ERROR(Preprocess(b, classes, lengths[b], &labels[b]));
    }
    ASSIGN_OR_RETURN(Tensor* const loss, ctx.AllocateOutput(0, Shape{batch}));
    ASSIGN_OR_RETURN(Tensor* const gradient, ctx.AllocateOutput(1, logits.shape()));
    std::fill_n(gradient->mutable_raw(), gradient->size_bytes(), 0);
    size_t longest = 0;
    for (const auto& of_sequence : labels) longest = std::max(longest, of_sequence.size());
    const int64_t places = static_cast<int64_t>(2 * longest + 3);
    ASSIGN_OR_RETURN(
        Tensor scratch,
        ctx.AllocateTemp(DType::kDouble,
                         {batch, logits.dim(0) * (2 * classes + places) + 3 * places + classes}));
    return VisitRealType(logits.dtype(), [&]<typename T>() {
      const double cost = 60.0 * static_cast<double>(logits.dim(0) * classes);
      ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          loss->data<T>()[b] = static_cast<T>(Sequence(
              logits.data<T>() + b * classes, steps[b], batch * classes, classes, labels[b],
              scratch.data<double>() + b * scratch.dim(1), gradient->data<T>() + b * classes));
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
    if (logits.num_elements() == 0) {
      return absl::InvalidArgumentError("the time, the batch and the classes must not be empty");
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
                  const std::vector<int64_t>& labels, double* scratch, T* gradient) const {
    if (steps == 0) return 0;
    const Alignment alignment(labels, classes - 1, merge_repeated_);
    const int64_t size = alignment.size(), places = size + 2;
    const auto take = [&](int64_t count) { return std::exchange(scratch, scratch + count); };
    double* const y = take(steps * classes);
    double* const log_y = take(steps * classes);
    for (int64_t t = 0; t < steps; ++t) {
      Softmax(logits + t * stride, classes, y + t * classes, log_y + t * classes);
    }
    double* const alpha = take(steps * places);
    double* const emitted = take(places);
    alignment.Begin(log_y, alpha);
    for (int64_t t = 1; t < steps; ++t) {
      alignment.Forward(alpha + (t - 1) * places, log_y + t * classes, emitted, alpha + t * places);
    }
    double* beta = take(places);
    double* next_beta = take(places);
    double* const shares = take(classes);
    alignment.End(beta);
    double log_p = kLogZero;
    const double* const last = alpha + (steps - 1) * places;
    for (int64_t u = std::max<int64_t>(0, size - 2); u < size; ++u) {
      log_p = LogSum(log_p, last[u], kLogZero);
    }
    const bool has_path = !IsImpossible(log_p);
    for (int64_t t = steps; t-- > 0;) {
      if (t + 1 < steps) {
        alignment.Backward(beta, log_y + (t + 1) * classes, emitted, next_beta);
        std::swap(beta, next_beta);
      }
      // Without any path the gradient is that of the softmax alone.
      std::fill_n(shares, classes, 0.0);
      if (has_path) {
        const double* const alpha_t = alpha + t * places;
        for (int64_t u = 0; u < size; ++u) emitted[u] = ExpOrZero(alpha_t[u] + beta[u] - log_p);
        for (int64_t u = 0; u < size; ++u) shares[alignment.label(u)] += emitted[u];
      }
      for (int64_t c = 0; c < classes; ++c) {
        gradient[t * stride + c] = static_cast<T>(y[t * classes + c] - shares[c]);
      }
    }
    return has_path ? -log_p : std::numeric_limits<double>::infinity();
  }

  // Sets the probabilities of the classes in one step, and their logarithms.
  template <typename T>
  static void Softmax(const T* logits, int64_t classes, double* y, double* log_y) {
    std::copy_n(logits, classes, log_y);
    const double largest = *std::max_element(log_y, log_y + classes);
    for (int64_t c = 0; c < classes; ++c) y[c] = ExpOrZero(log_y[c] - largest);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += y[c];
    const double log_sum = std::log(sum), inverse = 1 / sum;
    for (int64_t c = 0; c < classes; ++c) {
      log_y[c] -= largest + log_sum;
      y[c] *= inverse;
    }
  }

  const bool collapse_repeated_, merge_repeated_, ignore_longer_;
};
REGISTER_KERNEL("CTCLoss", kCpu, CtcLossKernel);

}  // namespace
}  // namespace tessera

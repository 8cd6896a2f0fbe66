// ConstrainedSequence: the most probable sequences of states, under transitions that are weighted
// or forbidden.
//
// A. Viterbi, Error bounds for convolutional codes and an asymptotically optimum decoding
// algorithm, IEEE Transactions on Information Theory 13, 1967.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// The state of a step that no allowed transition leads to.
constexpr int32_t kImpossible = -1;
constexpr float kLowest = std::numeric_limits<float>::lowest();

// Transitions between states, and, if there are ends, from the beginning and to the end of a
// sequence, which the state behind the last one stands for.
class Transitions {
 public:
  // `allowed` and `weights` are matrices, or null for none.
  Transitions(int64_t num_states, bool has_ends, bool has_logs, const bool* allowed,
              const float* weights)
      : num_states_(num_states),
        size_(num_states + (has_ends ? 1 : 0)),
        has_ends_(has_ends),
        has_logs_(has_logs),
        allowed_(allowed),
        weights_(weights) {}

  int64_t num_states() const { return num_states_; }
  int64_t end() const { return num_states_; }
  bool has_ends() const { return has_ends_; }
  bool has_logs() const { return has_logs_; }

  bool IsAllowed(int64_t from, int64_t to) const {
    return allowed_ == nullptr || allowed_[from * size_ + to];
  }
  float Weighted(float score, int64_t from, int64_t to) const {
    return weights_ == nullptr ? score : Combined(score, weights_[from * size_ + to]);
  }
  // Returns the score of both together, rounded to float after the step as TensorFlow does.
  float Combined(float score, double other) const {
    return static_cast<float>(has_logs_ ? score + other : score * other);
  }

 private:
  const int64_t num_states_, size_;
  const bool has_ends_, has_logs_;
  const bool* const allowed_;
  const float* const weights_;
};

// Keeps the best of the states that were offered; of equal ones the last.
struct Best {
  int32_t state = kImpossible;
  float score = kLowest;

  void Offer(int64_t offered, float its_score) {
    if (!(its_score >= score)) return;
    state = static_cast<int32_t>(offered);
    score = its_score;
  }
};

// Takes the best state step by step. `scores` has a row for each step.
void DecodeGreedily(const Transitions& transitions, const float* scores, int64_t num_steps,
                    int32_t* states) {
  int64_t previous = transitions.end();
  for (int64_t step = 0; step < num_steps; ++step, scores += transitions.num_states()) {
    const bool is_last = transitions.has_ends() && step == num_steps - 1;
    Best best;
    for (int64_t state = 0; state < transitions.num_states() && previous != kImpossible; ++state) {
      float score = scores[state];
      if (transitions.has_ends() || step > 0) {
        if (!transitions.IsAllowed(previous, state)) continue;
        if (is_last && !transitions.IsAllowed(state, transitions.end())) continue;
        score = transitions.Weighted(score, previous, state);
        if (is_last) score = transitions.Weighted(score, state, transitions.end());
      }
      best.Offer(state, score);
    }
    states[step] = best.state;
    previous = best.state;
  }
}

// Takes the best sequence as a whole.
class ViterbiDecoder {
 public:
  // `before` is scratch memory for the best state before each state in each step, `now` and `next`
  // for the scores of all states.
  ViterbiDecoder(const Transitions& transitions, int32_t* before, double* now, double* next)
      : transitions_(transitions), before_(before), now_(now), next_(next) {}

  void Decode(const float* scores, int64_t num_steps, int32_t* states) {
    if (num_steps == 0) return;
    const int64_t count = transitions_.num_states(), end = transitions_.end();
    for (int64_t state = 0; state < count; ++state) {
      const bool is_allowed = !transitions_.has_ends() || transitions_.IsAllowed(end, state);
      before_[state] = is_allowed ? static_cast<int32_t>(end) : kImpossible;
      if (!is_allowed) {
        next_[state] = kLowest;
      } else {
        next_[state] = transitions_.has_ends() ? transitions_.Weighted(scores[state], end, state)
                                               : scores[state];
      }
    }
    FinishStep();
    for (int64_t step = 1; step < num_steps; ++step) {
      Step(scores + step * count, before_ + (step - 1) * count, before_ + step * count);
      FinishStep();
    }
    const int32_t* const last = before_ + (num_steps - 1) * count;
    Best best;
    for (int64_t state = 0; state < count; ++state) {
      if (last[state] == kImpossible) continue;
      auto score = static_cast<float>(now_[state]);
      if (transitions_.has_ends()) {
        if (!transitions_.IsAllowed(state, end)) continue;
        score = transitions_.Weighted(score, state, end);
      }
      best.Offer(state, score);
    }
    int32_t state = best.state;
    for (int64_t step = num_steps - 1; step >= 0; --step) {
      states[step] = state;
      if (state != kImpossible) state = before_[step * count + state];
    }
  }

 private:
  void Step(const float* scores, const int32_t* before_last, int32_t* before) {
    const int64_t count = transitions_.num_states();
    for (int64_t state = 0; state < count; ++state) {
      Best best;
      for (int64_t from = 0; from < count; ++from) {
        if (before_last[from] == kImpossible || !transitions_.IsAllowed(from, state)) continue;
        const float score = transitions_.Combined(scores[state], now_[from]);
        best.Offer(from, transitions_.Weighted(score, from, state));
      }
      before[state] = best.state;
      next_[state] = best.score;
    }
  }

  // Makes the next scores those of now. Products are kept in range by the largest of them.
  void FinishStep() {
    const int64_t count = transitions_.num_states();
    std::swap(now_, next_);
    if (transitions_.has_logs() || count == 0) return;
    const double largest = *std::max_element(now_, now_ + count);
    if (!(largest > 0)) return;
    for (int64_t state = 0; state < count; ++state) now_[state] /= largest;
  }

  const Transitions& transitions_;
  int32_t* const before_;
  double *now_, *next_;
};

// Inputs: scores for each sequence, step and state, the lengths of the sequences, and two square
// matrices by the state before and the state behind, empty for none: whether a transition is
// allowed, and its weight. Scores may lack the first dimension for one sequence. Outputs: the
// states of all sequences, -1 for those that cannot be reached, and row splits.
// Errors: INVALID_ARGUMENT for shapes that do not fit, for lengths beyond the steps, and for
// negative weights that are to be multiplied with.
class ConstrainedSequenceKernel final : public OpKernel {
 public:
  explicit ConstrainedSequenceKernel(const KernelBuild& build)
      : is_viterbi_(build.attr<bool>("use_viterbi")),
        has_logs_(build.attr<bool>("use_log_space")),
        has_ends_(build.attr<bool>("use_start_and_end_states")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& scores = ctx.input(0);
    if (scores.rank() != 2 && scores.rank() != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "scores must have 2 or 3 dimensions, has shape ", scores.shape().ToString()));
    }
    const int64_t batch = scores.rank() == 3 ? scores.dim(0) : 1;
    const int64_t num_steps = scores.dim(scores.rank() - 2);
    const int64_t num_states = scores.dim(scores.rank() - 1);
    ASSIGN_OR_RETURN(const std::vector<int64_t> lengths,
                     ReadLengths(ctx.input(1), batch, num_steps));
    RETURN_IF_ERROR(CheckMatrix(ctx.input(2), num_states, "allowed_transitions"));
    RETURN_IF_ERROR(CheckMatrix(ctx.input(3), num_states, "transition_weights"));
    const auto allowed = ctx.input(2).flat<bool>();
    const auto weights = ctx.input(3).flat<float>();
    if (!has_logs_ &&
        std::any_of(weights.begin(), weights.end(), [](float w) { return !(w >= 0); })) {
      return absl::InvalidArgumentError("transition_weights must not be negative");
    }
    const Transitions transitions(num_states, has_ends_, has_logs_,
                                  allowed.empty() ? nullptr : allowed.data(),
                                  weights.empty() ? nullptr : weights.data());
    int64_t total = 0;
    for (const int64_t length : lengths) total += length;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{total}));
    Tensor before, now, next;
    if (is_viterbi_) {
      ASSIGN_OR_RETURN(before, ctx.AllocateTemp(DType::kInt32, Shape{num_steps, num_states}));
      ASSIGN_OR_RETURN(now, ctx.AllocateTemp(DType::kDouble, Shape{num_states}));
      ASSIGN_OR_RETURN(next, ctx.AllocateTemp(DType::kDouble, Shape{num_states}));
    }
    int32_t* states = output->data<int32_t>();
    for (int64_t i = 0; i < batch; ++i) {
      const float* const its_scores = scores.flat<float>().data() + i * num_steps * num_states;
      if (is_viterbi_) {
        ViterbiDecoder(transitions, before.data<int32_t>(), now.data<double>(), next.data<double>())
            .Decode(its_scores, lengths[i], states);
      } else {
        DecodeGreedily(transitions, its_scores, lengths[i], states);
      }
      states += lengths[i];
    }
    return VisitIndexType(ctx.output_type(1),
                          [&]<typename Splits>() { return WriteSplits<Splits>(ctx, 1, lengths); });
  }

 private:
  static absl::StatusOr<std::vector<int64_t>> ReadLengths(const Tensor& tensor, int64_t batch,
                                                          int64_t num_steps) {
    if (tensor.num_elements() != batch) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are ", tensor.num_elements(), " sequence_lengths for ", batch, " sequences"));
    }
    std::vector<int64_t> lengths;
    VisitIndexType(tensor.dtype(), [&]<typename Index>() {
      for (const Index length : tensor.flat<Index>()) lengths.push_back(length);
    });
    for (const int64_t length : lengths) {
      if (length >= 0 && length <= num_steps) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a sequence has length ", length, ", but scores for ", num_steps, " steps"));
    }
    return lengths;
  }

  absl::Status CheckMatrix(const Tensor& matrix, int64_t num_states, absl::string_view name) const {
    const int64_t size = num_states + (has_ends_ ? 1 : 0);
    if (matrix.num_elements() == 0 || matrix.shape() == Shape{size, size}) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " must be empty or have shape [", size,
                                                   ", ", size, "], has shape ",
                                                   matrix.shape().ToString()));
  }

  const bool is_viterbi_, has_logs_, has_ends_;
};
REGISTER_KERNEL("ConstrainedSequence", kCpu, ConstrainedSequenceKernel);

}  // namespace
}  // namespace tessera

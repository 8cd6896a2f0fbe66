#include "runtime/training/job/early_stopping_hook.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

class EarlyStoppingHookImpl final : public Hook {
 public:
  EarlyStoppingHookImpl(const training::EarlyStoppingHook& spec, RunEnd* end)
      : metric_(spec.metric().empty() ? "loss" : spec.metric()),
        higher_is_better_(spec.higher_is_better()),
        min_change_(spec.min_change()),
        patience_(spec.patience()),
        end_(end) {}

  absl::Status Begin(int64_t /*step*/) override {
    AskIfOver();
    return absl::OkStatus();
  }

  absl::Status AfterEvaluation(const Evaluation& evaluation) override {
    const auto it = evaluation.values.find(metric_);
    if (it == evaluation.values.end()) {
      return absl::InternalError(absl::StrCat("the evaluation lacks '", metric_, "'"));
    }
    const double value = higher_is_better_ ? it->second : -it->second;
    // Any number is better than none.
    const bool is_better =
        !has_best_ || value > best_ + min_change_ || (std::isnan(best_) && !std::isnan(value));
    if (is_better) {
      best_ = value;
      has_best_ = true;
    }
    waits_ = is_better ? 0 : waits_ + 1;
    AskIfOver();
    return absl::OkStatus();
  }

  void Save(std::vector<SavedTensor>* values) const override {
    if (!has_best_) return;
    values->push_back({Key(), Tensor::Vector<double>({best_, static_cast<double>(waits_)})});
  }
  absl::Status Restore(const CheckpointReader& reader) override {
    if (!reader.Contains(Key())) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor saved, reader.Read(Key()));
    if (saved.dtype() != DType::kDouble || saved.num_elements() != 2) return absl::OkStatus();
    has_best_ = true;
    best_ = saved.flat<double>()[0];
    waits_ = static_cast<int64_t>(saved.flat<double>()[1]);
    return absl::OkStatus();
  }

 private:
  // A job that goes on with another metric, or the other direction, begins to count anew.
  std::string Key() const {
    return absl::StrCat("_tessera/early_stopping/", higher_is_better_ ? "highest/" : "lowest/",
                        metric_);
  }
  void AskIfOver() {
    if (waits_ < patience_) return;
    end_->Ask(absl::StrCat("early stopping: '", metric_, "' has not become better than ",
                           higher_is_better_ ? best_ : -best_, " in ", waits_, " evaluations"),
              /*complete=*/true);
  }

  const std::string metric_;
  const bool higher_is_better_;
  const double min_change_;
  const int64_t patience_;
  RunEnd* const end_;
  bool has_best_ = false;
  double best_ = 0;    // negated where lower values are better
  int64_t waits_ = 0;  // evaluations since the best one
};

}  // namespace

std::unique_ptr<Hook> MakeEarlyStoppingHook(const training::EarlyStoppingHook& spec, RunEnd* end) {
  return std::make_unique<EarlyStoppingHookImpl>(spec, end);
}

}  // namespace tessera

// A run for tests that needs no graph: y = x / 2 + 2, element by element.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/session.h"

namespace tessera::serving {

// Takes one float tensor of any shape. Checks its dtype alone, as a session does. Thread-safe.
class HalfPlusTwoCallable : public Callable {
 public:
  using OnRun = std::function<absl::Status(const RunOptions&, absl::Span<const Tensor> feeds)>;

  // `on_run` is called before each run, and its error fails the run. May be null.
  explicit HalfPlusTwoCallable(OnRun on_run = nullptr) : on_run_(std::move(on_run)) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata*) const override {
    {
      absl::MutexLock lock(&mu_);
      runs_.push_back(feeds[0]);
    }
    if (feeds[0].dtype() != DType::kFloat) {
      return absl::InvalidArgumentError(absl::StrCat("expects x:0 to be float but ",
                                                     DTypeName(feeds[0].dtype()), " is provided"));
    }
    if (on_run_ != nullptr) {
      if (absl::Status status = on_run_(options, feeds); !status.ok()) return status;
    }
    Tensor y = Tensor::Allocate(DType::kFloat, feeds[0].shape()).value();
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      y.flat<float>()[i] = feeds[0].flat<float>()[i] / 2 + 2;
    }
    fetches->assign({y});
    return absl::OkStatus();
  }
  const RunSignature& signature() const override { return signature_; }

  // Returns the input of each run so far, in the order in which they began.
  std::vector<Tensor> runs() const {
    absl::MutexLock lock(&mu_);
    return runs_;
  }
  // Returns the first dimension of each of these inputs.
  std::vector<int64_t> run_rows() const {
    std::vector<int64_t> rows;
    for (const Tensor& x : runs()) rows.push_back(x.dim(0));
    return rows;
  }

 private:
  const RunSignature signature_{.feeds = {"x:0"}, .fetches = {"y:0"}, .targets = {}};
  const OnRun on_run_;
  mutable absl::Mutex mu_;
  mutable std::vector<Tensor> runs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving

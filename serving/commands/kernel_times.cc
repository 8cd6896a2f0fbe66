#include "serving/commands/kernel_times.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "serving/commands/trial_load.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera::serving {
namespace {

// The requests of warm-up are made this often. Enough for steady shares of small models.
constexpr int kRuns = 20;

// Returns "CPU:0" of "/job:localhost/replica:0/task:0/device:CPU:0".
std::string ShortDevice(absl::string_view name) {
  constexpr absl::string_view kDevice = "device:";
  const size_t at = name.find(kDevice);
  return std::string(at == name.npos ? name : name.substr(at + kDevice.size()));
}

// Returns "Conv2D" of "conv1 = Conv2D()".
std::string OpOfLabel(const tensorflow::NodeExecStats& node) {
  absl::string_view op = node.timeline_label();
  op.remove_prefix(node.node_name().size() + 3);
  op.remove_suffix(2);
  return std::string(op);
}

// Sums up the statistics of runs. Thread-safe.
class TimeSums {
 public:
  void Add(const tensorflow::StepStats& stats) {
    absl::MutexLock lock(&mu_);
    ++runs_;
    for (const auto& device : stats.dev_stats()) {
      for (const auto& node : device.node_stats()) {
        const auto dtype =
            node.output_size() == 0
                ? absl::string_view()
                : DTypeName(static_cast<DType>(node.output(0).tensor_description().dtype()));
        Sum& sum = sums_[{OpOfLabel(node), ShortDevice(device.device()), std::string(dtype)}];
        sum.nodes.insert(node.node_name());
        sum.nanoseconds += node.op_end_rel_nanos();
      }
    }
  }

  KernelTimes Get() const {
    absl::MutexLock lock(&mu_);
    KernelTimes times{.runs = runs_};
    int64_t all = 0;
    for (const auto& [key, sum] : sums_) all += sum.nanoseconds;
    for (const auto& [key, sum] : sums_) {
      times.kernels.push_back(
          {.op = std::get<0>(key),
           .device = std::get<1>(key),
           .dtype = std::get<2>(key),
           .nodes = static_cast<int64_t>(sum.nodes.size()),
           .nanoseconds = sum.nanoseconds,
           .share =
               all == 0 ? 0 : static_cast<double>(sum.nanoseconds) / static_cast<double>(all)});
    }
    std::stable_sort(times.kernels.begin(), times.kernels.end(),
                     [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
    return times;
  }

 private:
  struct Sum {
    std::set<std::string> nodes;
    int64_t nanoseconds = 0;
  };
  mutable absl::Mutex mu_;
  int64_t runs_ ABSL_GUARDED_BY(mu_) = 0;
  // By op, device and dtype.
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums_ ABSL_GUARDED_BY(mu_);
};

// Runs a callable, and adds the statistics of all runs but the first to `sums`.
class MeasuredCallable final : public Callable {
 public:
  MeasuredCallable(std::shared_ptr<const Callable> callable, TimeSums* sums)
      : callable_(std::move(callable)), sums_(sums) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata*) const override {
    RunOptions measured = options;
    measured.collect_stats = true;
    tensorflow::RunMetadata metadata;
    RETURN_IF_ERROR(callable_->Run(measured, feeds, fetches, &metadata));
    if (has_run_.exchange(true)) sums_->Add(metadata.step_stats());
    return absl::OkStatus();
  }
  const RunSignature& signature() const override { return callable_->signature(); }

 private:
  const std::shared_ptr<const Callable> callable_;
  TimeSums* const sums_;
  mutable std::atomic<bool> has_run_{false};
};

// Measures all runs of a version.
class MeasuringWrapper final : public RunWrapper {
 public:
  explicit MeasuringWrapper(TimeSums* sums) : sums_(sums) {}
  absl::StatusOr<std::shared_ptr<const Callable>> Wrap(std::shared_ptr<const Callable> callable,
                                                       RunRows) override {
    return std::make_shared<MeasuredCallable>(std::move(callable), sums_);
  }
  bool MayWait() const override { return false; }
  std::vector<int64_t> LikelyRows() const override { return {}; }
  void StartServing() override {}
  void BeginDraining() override {}

 private:
  TimeSums* const sums_;
};

}  // namespace

absl::StatusOr<KernelTimes> MeasureKernels(const std::string& directory,
                                           const std::set<std::string>& tags) {
  TimeSums sums;
  RETURN_IF_ERROR(
      TrialLoad(directory, tags,
                {.warm_up_runs = kRuns, .wrapper = std::make_shared<MeasuringWrapper>(&sums)}));
  return sums.Get();
}

}  // namespace tessera::serving

#include "runtime/session/traced_callable.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera {
namespace {

void RecordOps(const tensorflow::StepStats& stats, Tracer* tracer) {
  for (const auto& device : stats.dev_stats()) {
    for (const auto& node : device.node_stats()) {
      // A label is "node = Op()".
      absl::string_view op = node.timeline_label();
      op.remove_prefix(node.node_name().size() + 3);
      op.remove_suffix(2);
      tracer->Record({.name = absl::StrCat(node.node_name(), ":", op),
                      .category = "op",
                      .thread = static_cast<int32_t>(node.thread_id()),
                      .start = node.all_start_nanos(),
                      .end = node.all_start_nanos() + node.op_end_rel_nanos()});
    }
  }
}

class TracedCallable final : public Callable {
 public:
  TracedCallable(std::string name, Tracer* tracer, std::shared_ptr<const Callable> callable)
      : name_(std::move(name)), tracer_(tracer), callable_(std::move(callable)) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    if (!tracer_->Records(TraceLevel::kRuns) || metadata != nullptr) [[likely]]
      return callable_->Run(options, feeds, fetches, metadata);
    return RunTraced(options, feeds, fetches);
  }
  const RunSignature& signature() const override { return callable_->signature(); }

 private:
  absl::Status RunTraced(RunOptions options, absl::Span<const Tensor> feeds,
                         std::vector<Tensor>* fetches) const {
    TraceEvent event{.name = name_, .category = "run", .thread = CurrentThreadId()};
    if (!feeds.empty() && feeds[0].rank() > 0) {
      event.arguments.emplace_back("rows", absl::StrCat(feeds[0].dim(0)));
    }
    options.collect_stats = tracer_->Records(TraceLevel::kOps);
    tensorflow::RunMetadata metadata;
    event.start = Tracer::Now();
    absl::Status status = callable_->Run(options, feeds, fetches, &metadata);
    event.end = Tracer::Now();
    tracer_->Record(std::move(event));
    RecordOps(metadata.step_stats(), tracer_);
    return status;
  }

  const std::string name_;
  Tracer* const tracer_;
  const std::shared_ptr<const Callable> callable_;
};

}  // namespace

std::shared_ptr<const Callable> MakeTracedCallable(std::string name, Tracer* tracer,
                                                   std::shared_ptr<const Callable> callable) {
  return std::make_shared<TracedCallable>(std::move(name), tracer, std::move(callable));
}

}  // namespace tessera

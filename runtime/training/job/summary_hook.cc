#include "runtime/training/job/summary_hook.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/summary/event_file_writer.h"
#include "runtime/summary/histogram.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/step_rate.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

constexpr int64_t kDefaultSteps = 100;

class SummaryHookImpl final : public Hook {
 public:
  SummaryHookImpl(const training::SummaryHook& spec, std::unique_ptr<EventFileWriter> writer,
                  SummarySources sources)
      : every_steps_(spec.every_steps() > 0 ? spec.every_steps() : kDefaultSteps),
        histograms_(spec.histograms()),
        writer_(std::move(writer)),
        sources_(std::move(sources)),
        rate_(absl::Now()) {}

  absl::Status Begin(int64_t step) override {
    rate_.Take(absl::Now());
    tensorflow::Event start = NewEvent(step + 1);
    // TensorBoard drops what an earlier process wrote of this step and later ones.
    start.mutable_session_log()->set_status(tensorflow::SessionLog::START);
    RETURN_IF_ERROR(Write(start));
    if (sources_.graph.empty() || step > 0) return absl::OkStatus();
    tensorflow::Event graph = NewEvent(0);
    graph.set_graph_def(sources_.graph);
    return Write(graph);
  }

  absl::Status AfterStep(const StepResult& result) override {
    rate_.Count(result.rows);
    if (result.step % every_steps_ != 0) return absl::OkStatus();
    const StepRate::Rates rates = rate_.Take(absl::Now());
    tensorflow::Event event = NewEvent(result.step);
    AddScalar("loss", result.loss, &event);
    AddScalar("steps_per_second", rates.steps_per_second, &event);
    if (result.rows > 0) AddScalar("examples_per_second", rates.examples_per_second, &event);
    if (sources_.learning_rate != nullptr) {
      ASSIGN_OR_RETURN(const double rate, sources_.learning_rate());
      AddScalar("learning_rate", rate, &event);
    }
    return Write(event);
  }

  absl::Status AfterEvaluation(const Evaluation& evaluation) override {
    tensorflow::Event event = NewEvent(evaluation.step);
    for (const auto& [name, value] : evaluation.values) {
      AddScalar(absl::StrCat("eval/", name), value, &event);
    }
    if (histograms_ && sources_.variables != nullptr) RETURN_IF_ERROR(AddHistograms(&event));
    return Write(event);
  }

  absl::Status End(int64_t /*step*/) override {
    return WithFailure(writer_->Flush(), RunFailure::kWrite);
  }

 private:
  static tensorflow::Event NewEvent(int64_t step) {
    tensorflow::Event event;
    event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    event.set_step(step);
    return event;
  }
  static void AddScalar(const std::string& tag, double number, tensorflow::Event* event) {
    auto* value = event->mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number));
  }
  absl::Status AddHistograms(tensorflow::Event* event) {
    ASSIGN_OR_RETURN(const auto variables, sources_.variables());
    for (const auto& [name, tensor] : variables) {
      if (tensor.dtype() != DType::kFloat) continue;
      SummaryHistogram histogram;
      for (const float element : tensor.flat<float>()) {
        if (std::isfinite(element)) histogram.Add(element);
      }
      auto* value = event->mutable_summary()->add_value();
      value->set_tag(name);
      histogram.ToProto(value->mutable_histo());
    }
    return absl::OkStatus();
  }
  absl::Status Write(const tensorflow::Event& event) {
    return WithFailure(writer_->Write(event), RunFailure::kWrite);
  }

  const int64_t every_steps_;
  const bool histograms_;
  const std::unique_ptr<EventFileWriter> writer_;
  const SummarySources sources_;
  StepRate rate_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Hook>> MakeSummaryHook(const training::SummaryHook& spec,
                                                      const std::string& folder,
                                                      SummarySources sources) {
  auto writer = EventFileWriter::Create(folder, {});
  if (!writer.ok()) return WithFailure(writer.status(), RunFailure::kWrite);
  return std::make_unique<SummaryHookImpl>(spec, *std::move(writer), std::move(sources));
}

}  // namespace tessera

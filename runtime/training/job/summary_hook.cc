#include "runtime/training/job/summary_hook.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/summary/event_file_writer.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/floating_elements.h"
#include "runtime/training/job/step_rate.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

// The values of a trained variable; none for a type that is not of floating point.
std::vector<float> FloatsOf(const Tensor& tensor) {
  std::vector<float> floats;
  VisitFloatingElements(tensor, [&](auto elements) {
    floats.reserve(elements.size());
    for (const auto& element : elements) floats.push_back(static_cast<float>(element));
  });
  return floats;
}

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
    if (step > 0) return absl::OkStatus();
    tensorflow::Event about = NewEvent(0);
    AddHyperParameters(sources_.hyper_parameters, /*name=*/"", absl::Now(),
                       about.mutable_summary());
    if (!sources_.job.empty()) {
      AddText("job", absl::StrCat("```\n", sources_.job, "```\n"), about.mutable_summary());
    }
    RETURN_IF_ERROR(Write(about));
    if (sources_.graph.empty()) return absl::OkStatus();
    tensorflow::Event graph = NewEvent(0);
    graph.set_graph_def(sources_.graph);
    return Write(graph);
  }

  absl::Status AfterStep(const StepResult& result) override {
    rate_.Count(result.rows);
    if (result.step % every_steps_ != 0) return absl::OkStatus();
    const StepRate::Rates rates = rate_.Take(absl::Now());
    tensorflow::Event event = NewEvent(result.step);
    AddNumber("loss", result.loss, &event);
    AddNumber("steps_per_second", rates.steps_per_second, &event);
    if (result.rows > 0) AddNumber("examples_per_second", rates.examples_per_second, &event);
    if (sources_.learning_rate != nullptr) {
      ASSIGN_OR_RETURN(const double rate, sources_.learning_rate());
      AddNumber("learning_rate", rate, &event);
    }
    return Write(event);
  }

  absl::Status AfterEvaluation(const Evaluation& evaluation) override {
    tensorflow::Event event = NewEvent(evaluation.step);
    for (const auto& [name, value] : evaluation.values) {
      AddNumber(absl::StrCat("eval/", name), value, &event);
    }
    if (histograms_ && sources_.variables != nullptr) RETURN_IF_ERROR(AddVariables(&event));
    return Write(event);
  }

  absl::Status End(int64_t step) override {
    tensorflow::Event end = NewEvent(step);
    AddRunEnd(/*is_success=*/true, absl::Now(), end.mutable_summary());
    RETURN_IF_ERROR(Write(end));
    return WithFailure(writer_->Flush(), RunFailure::kWrite);
  }

 private:
  static tensorflow::Event NewEvent(int64_t step) {
    tensorflow::Event event;
    event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    event.set_step(step);
    return event;
  }
  static void AddNumber(const std::string& tag, double number, tensorflow::Event* event) {
    AddScalar(tag, static_cast<float>(number), event->mutable_summary());
  }
  absl::Status AddVariables(tensorflow::Event* event) {
    ASSIGN_OR_RETURN(const auto variables, sources_.variables());
    for (const auto& [name, tensor] : variables) {
      const std::vector<float> values = FloatsOf(tensor);
      if (!values.empty()) AddHistogram(name, values, event->mutable_summary());
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

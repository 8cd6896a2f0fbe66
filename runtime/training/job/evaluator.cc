#include "runtime/training/job/evaluator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/training/job/batch_feeds.h"
#include "runtime/training/job/failure.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

constexpr char kLoss[] = "loss";

absl::StatusOr<int> FieldIndex(const BatchSource& source, const std::string& name) {
  for (size_t i = 0; i < source.fields().size(); ++i) {
    if (source.fields()[i].name == name) return static_cast<int>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("the data have no field '", name, "'"));
}

// Returns the tensor that a metric is about.
absl::StatusOr<std::string> OutputOf(const training::MetricSpec& spec, bool is_loss,
                                     const TrainingProgram& program) {
  if (is_loss) {
    if (!program.eval_loss.empty()) return program.eval_loss;
    return absl::InvalidArgumentError("the graph has no loss for evaluations");
  }
  const auto& outputs = program.outputs;
  if (spec.output().empty() && outputs.size() == 1) return outputs.begin()->second;
  const auto it = outputs.find(spec.output());
  if (it != outputs.end()) return it->second;
  const std::string names = absl::StrJoin(
      outputs, ", ", [](std::string* out, const auto& each) { absl::StrAppend(out, each.first); });
  return absl::InvalidArgumentError(
      spec.output().empty()
          ? absl::StrCat("`output` is missing; the graph has ", names.empty() ? "none" : names)
          : absl::StrCat("the graph has no output '", spec.output(), "'; it has ",
                         names.empty() ? "none" : names, ": see graph.outputs"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Make(const training::EvalSpec& spec,
                                                           const TrainingProgram& program,
                                                           std::unique_ptr<BatchSource> source) {
  auto evaluator = std::unique_ptr<Evaluator>(new Evaluator(std::move(source), spec.batches()));
  const BatchSource& data = *evaluator->source_;
  std::vector<training::MetricSpec> specs(spec.metrics().begin(), spec.metrics().end());
  const bool has_loss = std::any_of(specs.begin(), specs.end(),
                                    [](const auto& each) { return each.type() == kLoss; });
  if (!has_loss && !program.eval_loss.empty()) specs.emplace_back().set_type(kLoss);
  RunSignature signature;
  for (const training::MetricSpec& each : specs) {
    NamedMetric metric{.name = each.name().empty() ? each.type() : each.name()};
    const size_t number = evaluator->metrics_.size();
    const auto annotate = [&](const absl::Status& status) {
      return Annotate(status,
                      absl::StrCat("metrics[", number, "]: the metric '", metric.name, "': "));
    };
    auto made = Metric::Make(each);
    RETURN_IF_ERROR(annotate(made.status()));
    metric.metric = *std::move(made);
    const absl::StatusOr<std::string> output =
        OutputOf(each, !metric.metric->needs_label(), program);
    RETURN_IF_ERROR(annotate(output.status()));
    metric.output = static_cast<int>(signature.fetches.size());
    signature.fetches.push_back(*output);
    if (metric.metric->needs_label()) {
      const std::string& label = each.label().empty() ? program.label_field : each.label();
      if (label.empty()) {
        return annotate(
            absl::InvalidArgumentError("`label`, the field to compare with, is missing"));
      }
      const absl::StatusOr<int> field = FieldIndex(data, label);
      RETURN_IF_ERROR(annotate(field.status()));
      metric.label = *field;
    }
    if (!each.weight().empty()) {
      const absl::StatusOr<int> field = FieldIndex(data, each.weight());
      RETURN_IF_ERROR(annotate(field.status()));
      metric.weight = *field;
    }
    evaluator->metrics_.push_back(std::move(metric));
  }
  // A placeholder that only the loss needs is fed, too.
  ASSIGN_OR_RETURN(evaluator->fields_, MatchFields(program.eval_inputs, data.fields()));
  evaluator->constants_ = program.eval_constants;
  signature.feeds = FeedNames(program.eval_inputs, program.eval_constants);
  ASSIGN_OR_RETURN(evaluator->callable_, program.session->MakeCallable(signature));
  return evaluator;
}

absl::Status Evaluator::Try(const std::vector<Tensor>& batch) {
  for (NamedMetric& each : metrics_) each.metric->Reset();
  return Update(batch);
}

absl::StatusOr<Evaluation> Evaluator::Run(int64_t step, RunControl* control) {
  for (NamedMetric& each : metrics_) each.metric->Reset();
  std::vector<Tensor> batch;
  const auto next = [&] {
    return NextBatch(control == nullptr ? nullptr : &control->data_waits, &batch);
  };
  for (int64_t count = 0; batches_ == 0 || count < batches_; ++count) {
    absl::StatusOr<bool> has_batch = next();
    // The evaluation before this one took the last batch, and left the end of the data.
    if (batches_ > 0 && count == 0 && has_batch.ok() && !*has_batch) has_batch = next();
    if (absl::IsCancelled(has_batch.status())) return has_batch.status();
    if (!has_batch.ok()) {
      return WithFailure(Annotate(has_batch.status(), "data.eval: "), RunFailure::kData);
    }
    if (!*has_batch) break;
    RETURN_IF_ERROR(Update(batch));
    if (control != nullptr && control->is_stopping) return absl::CancelledError("the run stops");
  }
  Evaluation evaluation{.step = step};
  for (const NamedMetric& each : metrics_) evaluation.values[each.name] = each.metric->Result();
  return evaluation;
}

absl::StatusOr<bool> Evaluator::NextBatch(CancellationManager* cancellation,
                                          std::vector<Tensor>* batch) {
  if (!position_) return source_->Next(cancellation, batch);
  while (position_->must_drop()) {
    RETURN_IF_ERROR(position_->Next(cancellation, batch).status());
  }
  return position_->Next(cancellation, batch);
}

absl::Status Evaluator::Update(const std::vector<Tensor>& batch) {
  SelectFeeds(fields_, batch, constants_, &feeds_);
  fetches_.clear();
  RETURN_IF_ERROR(WithFailure(Annotate(callable_->Run({}, feeds_, &fetches_), "the evaluation: "),
                              RunFailure::kData));
  const Tensor rows = Tensor::Scalar(static_cast<float>(RowsOf(batch)));
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const NamedMetric& each = metrics_[i];
    Metric::Batch values{.output = &fetches_[each.output]};
    if (each.label >= 0) values.label = &batch[each.label];
    if (each.weight >= 0) {
      values.weight = &batch[each.weight];
    } else if (!each.metric->needs_label()) {
      values.weight = &rows;
    }
    RETURN_IF_ERROR(WithFailure(
        Annotate(each.metric->Update(values),
                 absl::StrCat("eval: metrics[", i, "]: the metric '", each.name, "': ")),
        RunFailure::kData));
  }
  return absl::OkStatus();
}

std::vector<std::string> Evaluator::MetricNames() const {
  std::vector<std::string> names;
  for (const NamedMetric& each : metrics_) names.push_back(each.name);
  return names;
}

bool Evaluator::HigherIsBetter(const std::string& name) const {
  for (const NamedMetric& each : metrics_) {
    if (each.name == name) return each.metric->higher_is_better();
  }
  return false;
}

}  // namespace tessera

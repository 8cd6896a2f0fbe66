#include "runtime/training/job/job_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "runtime/training/metrics/metric.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// More threads than this are a typing error, and take long to start.
constexpr int64_t kMaxThreads = 1024;

class JobCheck {
 public:
  explicit JobCheck(const training::TrainingJob& job) : job_(job) {}

  std::vector<JobFinding> Run() {
    CheckLength();
    CheckGraph();
    CheckEvaluation();
    CheckHooks();
    CheckExport();
    CheckFinite("", job_);
    return std::move(findings_);
  }

 private:
  void Find(std::string key, std::string message) {
    findings_.push_back({std::move(key), std::move(message)});
  }
  void NotNegative(const std::string& key, double value) {
    if (!(value >= 0)) Find(key, "must not be negative");
  }
  // Whether evaluations have a value of this name.
  void CheckMetricName(const std::string& key, const std::string& name) {
    std::set<std::string> names = {"loss"};
    for (const auto& metric : job_.eval().metrics()) {
      names.insert(metric.name().empty() ? metric.type() : metric.name());
    }
    // A metric that is wrong may be the one that is meant.
    if (names.contains(name) || has_wrong_metric_) return;
    Find(key, absl::StrCat("evaluations have no '", name, "'; they have ",
                           absl::StrJoin(names, ", "), ": see eval.metrics"));
  }

  // Finds what stands for no finite number in `message`, whose keys begin with `prefix`.
  void CheckFinite(const std::string& prefix, const Message& message) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        const std::string key = field->is_repeated()
                                    ? absl::StrCat(prefix, field->name(), "[", i, "]")
                                    : absl::StrCat(prefix, field->name());
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          CheckFinite(key + ".", field->is_repeated()
                                     ? reflection.GetRepeatedMessage(message, field, i)
                                     : reflection.GetMessage(message, field));
        } else if (!std::isfinite(NumberOf(message, *field, i)) && !IsFound(key)) {
          Find(key, "must be a finite number");
        }
      }
    }
  }
  // Returns a value of a field, or 0 if these are no floating-point numbers.
  static double NumberOf(const Message& message, const FieldDescriptor& field, int i) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      return field.is_repeated() ? reflection.GetRepeatedDouble(message, &field, i)
                                 : reflection.GetDouble(message, &field);
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
      return field.is_repeated() ? reflection.GetRepeatedFloat(message, &field, i)
                                 : reflection.GetFloat(message, &field);
    }
    return 0;
  }
  bool IsFound(absl::string_view key) const {
    return absl::c_any_of(findings_, [&](const JobFinding& found) { return found.key == key; });
  }

  void CheckLength() {
    NotNegative("steps", static_cast<double>(job_.steps()));
    NotNegative("epochs", static_cast<double>(job_.epochs()));
    NotNegative("batch", static_cast<double>(job_.batch()));
    NotNegative("threads", static_cast<double>(job_.threads()));
    if (job_.threads() > kMaxThreads) {
      Find("threads", absl::StrCat("must be at most ", kMaxThreads,
                                   "; 0 takes as many threads as there are cores"));
    }
    if (job_.steps() > 0 && job_.epochs() > 0) {
      Find("epochs", "a job has either steps or epochs, not both");
    }
    if (job_.steps() == 0 && job_.epochs() == 0) {
      Find("steps", "is missing: set steps or epochs, so that the job ends");
    }
    if (job_.epochs() > 0 && !job_.data().has_train()) {
      Find("epochs", "a graph that reads its own data has no epochs here; set steps");
    }
    if (job_.data().has_train() && job_.batch() == 0) {
      Find("batch", "is missing: the number of rows of a batch");
    }
    CheckPrecision();
    CheckDevice();
  }

  void CheckDevice() {
    const auto& device = job_.device();
    if (!(device.memory_fraction() >= 0 && device.memory_fraction() <= 1)) {
      Find("device.memory_fraction", "must be from 0 to 1");
    }
    std::set<int64_t> gpus;
    for (int i = 0; i < device.gpus_size(); ++i) {
      const std::string key = absl::StrCat("device.gpus[", i, "]");
      const int64_t gpu = device.gpus(i);
      if (gpu < 0 || gpu > std::numeric_limits<int>::max()) Find(key, "is the number of no GPU");
      if (!gpus.insert(gpu).second) Find(key, absl::StrCat("GPU ", gpu, " is named twice"));
    }
    if (device.type() != "cpu") return;
    if (!gpus.empty()) Find("device.gpus", "has no effect with type: cpu");
    if (device.memory_fraction() > 0) {
      Find("device.memory_fraction", "has no effect with type: cpu");
    }
    if (device.allow_growth()) Find("device.allow_growth", "has no effect with type: cpu");
  }

  void CheckPrecision() {
    const std::string& precision = job_.precision();
    if (!precision.empty() && precision != "float32" && precision != "bfloat16" &&
        precision != "float16") {
      Find("precision", absl::StrCat("'", precision, "' is none of float32, bfloat16 and float16"));
    }
    NotNegative("accumulate", static_cast<double>(job_.accumulate()));
    if (job_.steps() > 0 && job_.accumulate() > job_.steps()) {
      Find("accumulate", "is more than all steps: no variable would ever change");
    }
    const auto& scale = job_.loss_scale();
    // The scale is a float, and an infinite one stays infinite however often it is halved.
    constexpr double kMaxScale = std::numeric_limits<float>::max();
    if (scale.initial() != 0 && !(scale.initial() >= 1 && scale.initial() <= kMaxScale)) {
      Find("loss_scale.initial", "must be at least 1, and a finite float");
    }
    NotNegative("loss_scale.growth_steps", static_cast<double>(scale.growth_steps()));
    if (scale.fixed() && scale.growth_steps() > 0) {
      Find("loss_scale.growth_steps", "has no effect with fixed: true");
    }
  }

  void CheckGraph() {
    if (job_.graph().source_case() == training::GraphSpec::SOURCE_NOT_SET) {
      Find("graph", "needs one of saved_model, meta_graph and forward");
    }
    const auto& loss = job_.graph().loss();
    NotNegative("graph.loss.l2", loss.l2());
    NotNegative("graph.loss.huber_delta", loss.huber_delta());
    if (!(loss.label_smoothing() >= 0 && loss.label_smoothing() < 1)) {
      Find("graph.loss.label_smoothing", "must be at least 0 and below 1");
    }
    const auto& schedule = job_.graph().schedule();
    if ((schedule.type() == "polynomial" || schedule.type() == "cosine") &&
        schedule.decay_steps() == 0 && job_.epochs() > 0) {
      Find("graph.schedule.decay_steps",
           "is missing: a job with epochs does not know its steps beforehand");
    }
  }

  void CheckEvaluation() {
    const auto& eval = job_.eval();
    NotNegative("eval.every_steps", static_cast<double>(eval.every_steps()));
    NotNegative("eval.batches", static_cast<double>(eval.batches()));
    if (job_.has_eval() && !job_.data().has_eval()) {
      Find("eval", "there is no data to evaluate on: data.eval is missing");
    }
    std::set<std::string> names;
    for (int i = 0; i < eval.metrics_size(); ++i) {
      const auto& metric = eval.metrics(i);
      const std::string key = absl::StrCat("eval.metrics[", i, "]");
      if (metric.type().empty()) {
        Find(key, "needs a type");
      } else if (const absl::Status made = Metric::Make(metric).status(); !made.ok()) {
        Find(key, std::string(made.message()));
        has_wrong_metric_ = true;
      }
      const std::string& name = metric.name().empty() ? metric.type() : metric.name();
      if (!names.insert(name).second) {
        Find(key, absl::StrCat("the name '", name, "' is that of an earlier metric"));
      }
      if (name == "event" || name == "step" || (name == "loss" && metric.type() != "loss")) {
        Find(key, absl::StrCat("the name '", name, "' has a meaning of its own in the log"));
      }
    }
  }

  void CheckHooks() {
    const auto& hooks = job_.hooks();
    const auto& checkpoint = hooks.checkpoint();
    NotNegative("hooks.checkpoint.every_steps", static_cast<double>(checkpoint.every_steps()));
    NotNegative("hooks.checkpoint.every_seconds", checkpoint.every_seconds());
    NotNegative("hooks.checkpoint.max_to_keep", static_cast<double>(checkpoint.max_to_keep()));
    NotNegative("hooks.checkpoint.keep_every_hours", checkpoint.keep_every_hours());
    if (checkpoint.every_steps() > 0 && checkpoint.every_seconds() > 0) {
      Find("hooks.checkpoint.every_seconds", "set either every_steps or every_seconds, not both");
    }
    NotNegative("hooks.logging.every_steps", static_cast<double>(hooks.logging().every_steps()));
    NotNegative("hooks.summary.every_steps", static_cast<double>(hooks.summary().every_steps()));
    NotNegative("hooks.profiler.from_step", static_cast<double>(hooks.profiler().from_step()));
    if (hooks.has_profiler() && hooks.profiler().steps() <= 0) {
      Find("hooks.profiler.steps", "must be at least 1");
    }
    if (job_.steps() > 0 && hooks.profiler().from_step() > job_.steps()) {
      Find("hooks.profiler.from_step",
           absl::StrCat("comes after step ", job_.steps(), ", the last one"));
    }
    NotNegative("hooks.stop.after_seconds", hooks.stop().after_seconds());
    NotNegative("hooks.stop.step_timeout_seconds", hooks.stop().step_timeout_seconds());
    if (hooks.nan().off() && hooks.nan().debug()) {
      Find("hooks.nan.debug", "has no effect with off: true");
    }
    if (!hooks.has_early_stopping()) return;
    const auto& stopping = hooks.early_stopping();
    NotNegative("hooks.early_stopping.min_change", stopping.min_change());
    if (stopping.patience() < 1) Find("hooks.early_stopping.patience", "must be at least 1");
    if (job_.eval().every_steps() == 0) {
      Find("hooks.early_stopping", "needs evaluations between the steps: set eval.every_steps");
    }
    if (!stopping.metric().empty()) {
      CheckMetricName("hooks.early_stopping.metric", stopping.metric());
    }
  }

  void CheckExport() {
    if (!job_.has_export_()) return;
    const auto& spec = job_.export_();
    if (spec.base_path().empty()) Find("export.base_path", "is missing");
    NotNegative("export.version", static_cast<double>(spec.version()));
    const bool has_signatures = !job_.graph().saved_model().empty();
    if (!has_signatures && !spec.weights_only() && spec.outputs().empty()) {
      Find("export.outputs", "is missing: what the version answers to requests");
    }
    const bool has_condition = spec.has_at_least() || spec.has_at_most() || spec.beats_served();
    if (has_condition && spec.metric().empty()) {
      Find("export.metric", "is missing: the metric that the conditions are about");
    }
    if (!spec.metric().empty() && !has_condition) {
      Find("export.metric", "needs at_least, at_most or beats_served");
    }
    if (spec.has_at_least() && spec.has_at_most()) {
      Find("export.at_most",
           "set at_least for a metric that should be high, at_most for a low one");
    }
    if (spec.metric().empty()) return;
    CheckMetricName("export.metric", spec.metric());
    if (!job_.data().has_eval()) {
      Find("export.metric", "there is nothing to evaluate on: data.eval is missing");
    }
  }

  const training::TrainingJob& job_;
  std::vector<JobFinding> findings_;
  bool has_wrong_metric_ = false;
};

}  // namespace

std::vector<JobFinding> CheckJob(const training::TrainingJob& job) { return JobCheck(job).Run(); }

}  // namespace tessera

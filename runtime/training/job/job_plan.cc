// DescribePlan() of prepared_job.h.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/framework/device.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/prepared_job.h"
#include "runtime/training/job/run_folder.h"

namespace tessera {
namespace {

// Writes lines "name      text".
class Lines {
 public:
  template <typename... Args>
  void Add(absl::string_view name, const Args&... text) {
    absl::StrAppend(&text_, name, std::string(name.size() < 12 ? 12 - name.size() : 1, ' '),
                    text..., "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string DescribeGraph(const training::GraphSpec& graph) {
  std::vector<std::string> parts;
  if (graph.has_saved_model()) parts.push_back(absl::StrCat("SavedModel ", graph.saved_model()));
  if (graph.has_meta_graph()) parts.push_back(absl::StrCat("MetaGraph ", graph.meta_graph()));
  if (graph.has_forward()) parts.push_back(absl::StrCat("forward graph ", graph.forward()));
  if (graph.has_loss()) parts.push_back(absl::StrCat("loss ", graph.loss().type()));
  if (graph.has_optimizer()) {
    parts.push_back(
        absl::StrCat(graph.optimizer().type(), " at ", graph.optimizer().learning_rate()));
  }
  if (graph.has_schedule()) parts.push_back(absl::StrCat(graph.schedule().type(), " schedule"));
  return absl::StrJoin(parts, ", ");
}

std::string DescribeVariables(const TrainingProgram& program) {
  int64_t trained = 0, elements = 0;
  for (const StateVariable& variable : program.variables) {
    if (!variable.trainable) continue;
    ++trained;
    if (variable.shape.IsFullyDefined()) elements += variable.shape.AsShape()->num_elements();
  }
  return absl::StrCat(program.variables.size(), " in a checkpoint, ", trained,
                      " of them trained, with ", elements, " elements");
}

// Returns "GPU:0" for the full name of a device.
std::string ShortName(absl::string_view full_name) {
  return std::string(full_name.substr(full_name.rfind(':', full_name.rfind(':') - 1) + 1));
}

// Describes where the ops of a step run: how many on each device and, beside accelerators, which on
// the CPU.
std::string DescribeDevices(const PreparedJob& prepared) {
  std::vector<std::string> parts;
  std::string on_cpu;
  for (const Device* device : prepared.program->session->ListDevices()) {
    const auto placed = prepared.step->placement().find(device->full_name());
    int64_t count = 0;
    std::vector<std::string> ops;
    if (placed != prepared.step->placement().end()) {
      for (const auto& [op, nodes] : placed->second) {
        count += nodes;
        ops.push_back(nodes == 1 ? op : absl::StrCat(op, " x ", nodes));
      }
    }
    const std::string hardware = device->description();
    parts.push_back(absl::StrCat(ShortName(device->full_name()),
                                 hardware.empty() ? "" : absl::StrCat(" (", hardware, ")"),
                                 " runs ", count, count == 1 ? " op" : " ops", " of a step"));
    const bool is_beside_others = parts.size() > 1;
    if (device->type() == kCpu && is_beside_others && count > 0) {
      on_cpu = absl::StrCat(": ", absl::StrJoin(ops, ", "));
    }
  }
  return absl::StrCat(absl::StrJoin(parts, "; "), on_cpu);
}

// Reads the first batch, and describes it and the files.
absl::StatusOr<std::string> DescribeData(BatchSource& source, absl::string_view key,
                                         std::vector<Tensor>* batch) {
  const absl::StatusOr<bool> has_batch = source.Next(nullptr, batch);
  if (!has_batch.ok()) {
    return WithFailure(Annotate(has_batch.status(), absl::StrCat(key, ": ")), RunFailure::kData);
  }
  std::vector<std::string> fields;
  for (size_t i = 0; i < batch->size(); ++i) {
    fields.push_back(absl::StrCat(source.fields()[i].name, " ", DTypeName((*batch)[i].dtype()),
                                  (*batch)[i].shape().ToString()));
  }
  const size_t files = source.files().size();
  return absl::StrCat(files, files == 1 ? " file" : " files",
                      "; first batch: ", absl::StrJoin(fields, ", "));
}

// Evaluates a batch with the first values of the variables.
absl::Status TryEvaluation(const PreparedJob& prepared, const std::vector<Tensor>& batch) {
  const TrainingProgram& program = *prepared.program;
  if (!program.init.empty()) {
    RETURN_IF_ERROR(Annotate(program.session->Run({}, {}, program.init, nullptr), "graph: init: "));
  }
  return prepared.evaluator->Try(batch);
}

std::string DescribeHooks(const training::HooksSpec& hooks) {
  std::vector<std::string> parts;
  const auto& checkpoint = hooks.checkpoint();
  if (checkpoint.every_steps() > 0) {
    parts.push_back(absl::StrCat("a checkpoint every ", checkpoint.every_steps(), " steps"));
  } else {
    parts.push_back(absl::StrCat("a checkpoint every ",
                                 checkpoint.every_seconds() > 0 ? checkpoint.every_seconds() : 600,
                                 " s"));
  }
  if (hooks.has_summary()) parts.push_back("event files");
  if (hooks.has_profiler()) {
    parts.push_back(absl::StrCat("a trace of ", hooks.profiler().steps(), " steps"));
  }
  if (hooks.has_early_stopping()) {
    const std::string& metric = hooks.early_stopping().metric();
    parts.push_back(absl::StrCat("early stopping by ", metric.empty() ? "loss" : metric));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

absl::StatusOr<std::string> DescribePlan(PreparedJob& prepared) {
  const training::TrainingJob& job = prepared.job;
  Lines lines;
  lines.Add("graph", DescribeGraph(job.graph()));
  lines.Add("variables", DescribeVariables(*prepared.program));
  lines.Add("devices", DescribeDevices(prepared));
  if (prepared.source == nullptr) {
    lines.Add("data", "read by the graph itself");
  } else {
    std::vector<Tensor> batch;
    ASSIGN_OR_RETURN(const std::string data, DescribeData(*prepared.source, "data.train", &batch));
    lines.Add("data", data);
  }
  if (prepared.evaluator != nullptr) {
    std::vector<Tensor> batch;
    ASSIGN_OR_RETURN(const std::string data,
                     DescribeData(prepared.evaluator->source(), "data.eval", &batch));
    RETURN_IF_ERROR(TryEvaluation(prepared, batch));
    lines.Add("eval data", data);
    lines.Add("evaluation", absl::StrJoin(prepared.evaluator->MetricNames(), ", "),
              job.eval().every_steps() > 0
                  ? absl::StrCat(", every ", job.eval().every_steps(), " steps and at the end")
                  : ", at the end");
  }
  lines.Add("length", job.steps() > 0 ? absl::StrCat(job.steps(), " steps")
                                      : absl::StrCat(job.epochs(), " epochs"));
  lines.Add("hooks", DescribeHooks(job.hooks()));
  const std::string folder = prepared.RunPath();
  const auto state = ReadCheckpointState(CheckpointsPath(folder));
  std::string resume = ", a new run";
  if (state.ok()) {
    resume = job.has_resume() && !job.resume() ? ", a new run; what is there is put aside"
                                               : absl::StrCat(", resumed from ", state->latest);
  }
  lines.Add("folder", folder, resume);
  if (job.has_export_()) {
    const auto& spec = job.export_();
    lines.Add(
        "export", spec.weights_only() ? "weights to " : "a SavedModel to ",
        prepared.Resolve(spec.base_path()),
        spec.metric().empty() ? "" : absl::StrCat(", if '", spec.metric(), "' is good enough"));
  }
  return lines.Take();
}

}  // namespace tessera

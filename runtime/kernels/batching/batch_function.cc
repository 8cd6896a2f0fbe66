// BatchFunction: calls a function once for the rows of several steps.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/batching/batch_rows.h"
#include "runtime/kernels/batching/batching_attrs.h"
#include "runtime/kernels/batching/joined_parts.h"

namespace tessera {
namespace {

using Done = AsyncOpKernel::DoneCallback;

// Gives each task its rows of the results.
absl::StatusOr<std::vector<std::vector<Tensor>>> SplitResults(const Batch& batch,
                                                              int64_t padded_rows,
                                                              absl::Span<const Tensor> results) {
  std::vector<std::vector<Tensor>> outputs(batch.tasks.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = results[i];
    if (result.rank() == 0 || result.dim(0) != padded_rows) {
      return absl::FailedPreconditionError(absl::StrCat(
          "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes "
          "of the input tensors: result ",
          i, " has shape ", result.shape().ToString(), " for ", padded_rows, " rows"));
    }
    int64_t row = 0;
    for (size_t t = 0; t < batch.tasks.size(); ++t) {
      outputs[t].push_back(result.Slice(row, row + batch.tasks[t]->rows));
      row += batch.tasks[t]->rows;
    }
  }
  return outputs;
}

// Calls the function within a step of its own, whose resources are those of the session.
absl::StatusOr<std::vector<std::vector<Tensor>>> CallForBatch(
    const CallableFunction& function, const std::vector<int64_t>& allowed_sizes, Batch& batch) {
  const int64_t padded_rows = batch.rows == 0 ? 0 : PaddedRows(allowed_sizes, batch.rows);
  ASSIGN_OR_RETURN(std::vector<Tensor> args, JoinInputs(batch, padded_rows));
  const BatchTask& last = *batch.tasks.back();
  args.insert(args.end(), last.captured.begin(), last.captured.end());

  ResourceManager step_resources;
  StepContext step = *last.step;
  step.step_resources = &step_resources;
  step.cancellation = &batch.cancellation;
  step.rendezvous = nullptr;
  for (const auto& task : batch.tasks)
    step.deadline = std::max(step.deadline, task->step->deadline);
  std::vector<Tensor> results;
  RETURN_IF_ERROR(function.CallConsuming(step, absl::MakeSpan(args), &results));
  return SplitResults(batch, padded_rows, results);
}

// Inputs `in_tensors` are joined, `captured_tensors` are those of any task. The attributes of low
// priority tasks have no effect: every task has the same priority.
// Errors: INVALID_ARGUMENT for inputs without rows, with different numbers of rows, or with more
// than max_batch_size; those of BatchScheduler::Add() and of the function.
class BatchFunctionKernel : public AsyncOpKernel {
 public:
  explicit BatchFunctionKernel(const KernelBuild& build)
      : attrs_(build),
        num_inputs_(build.inputs("in_tensors").size()),
        function_(build.function("f")) {
    if (function_ == nullptr) return;
    if (function_->num_args() != build.num_inputs() ||
        function_->num_results() != build.num_outputs()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "the function takes ", function_->num_args(), " and gives ", function_->num_results(),
          " tensors, the node has ", build.num_inputs(), " and ", build.num_outputs())));
    }
    // Nodes that share a queue by its name may call different functions.
    attrs_.queue = absl::StrCat(attrs_.queue, "\n", reinterpret_cast<uintptr_t>(function_));
    process_ = [function = function_, sizes = attrs_.allowed_batch_sizes](Batch& batch) {
      return CallForBatch(*function, sizes, batch);
    };
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    const absl::Status status = Add(ctx, done);
    if (!status.ok()) done(status);
  }

 private:
  // After an error, `done` is the caller's to call.
  absl::Status Add(KernelContext& ctx, const Done& done) const {
    BatchTask task;
    for (int i = 0; i < num_inputs_; ++i) task.inputs.push_back(ctx.TakeInput(i));
    for (int i = num_inputs_; i < ctx.num_inputs(); ++i) task.captured.push_back(ctx.TakeInput(i));
    task.step = &ctx.step();
    task.allocator = ctx.host_allocator();
    ASSIGN_OR_RETURN(task.rows, NumRows(task.inputs));
    if (task.rows > attrs_.max_batch_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("Task size ", task.rows, " is larger than maximum input batch size ",
                       attrs_.max_batch_size, "; send fewer rows at once"));
    }
    ASSIGN_OR_RETURN(const IntrusivePtr<BatchScheduler> scheduler, attrs_.Scheduler(ctx));
    task.done = [&ctx, done, scheduler](absl::StatusOr<std::vector<Tensor>> outputs) {
      if (!outputs.ok()) return done(outputs.status());
      for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move((*outputs)[i]));
      done(absl::OkStatus());
    };
    const int64_t max_rows = attrs_.options.max_batch_rows;
    if (task.rows <= max_rows) {
      scheduler->Add(attrs_.queue, attrs_.options, process_,
                     std::make_shared<BatchTask>(std::move(task)));
    } else {
      AddInParts(*scheduler, task);
    }
    return absl::OkStatus();
  }

  void AddInParts(BatchScheduler& scheduler, BatchTask& task) const {
    const int64_t max_rows = attrs_.options.max_batch_rows;
    const size_t num_parts = (task.rows + max_rows - 1) / max_rows;
    auto joined = std::make_shared<JoinedParts>(num_parts, task.allocator, std::move(task.done));
    for (size_t part = 0; part < num_parts; ++part) {
      const int64_t begin = static_cast<int64_t>(part) * max_rows;
      const int64_t end = std::min(begin + max_rows, task.rows);
      auto added = std::make_shared<BatchTask>();
      added->rows = end - begin;
      for (const Tensor& input : task.inputs) added->inputs.push_back(input.Slice(begin, end));
      added->captured = task.captured;
      added->step = task.step;
      added->allocator = task.allocator;
      added->done = [joined, part](absl::StatusOr<std::vector<Tensor>> outputs) {
        joined->Put(part, std::move(outputs));
      };
      scheduler.Add(attrs_.queue, attrs_.options, process_, std::move(added));
    }
  }

  BatchingAttrs attrs_;
  const int num_inputs_;
  const CallableFunction* const function_;
  BatchProcessor process_;
};
REGISTER_KERNEL("BatchFunction", kCpu, BatchFunctionKernel);

}  // namespace
}  // namespace tessera

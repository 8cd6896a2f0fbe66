// A run of a straight-through program whose work on the device was captured.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/device/capture/capture_device.h"
#include "runtime/device/capture/work_capture.h"
#include "runtime/exec/capture_plan.h"
#include "runtime/exec/captured_state.h"
#include "runtime/exec/straight_program.h"

namespace tessera {

// For arguments of one combination of shapes. A run copies the arguments to where the work reads
// them, enqueues the work at once instead of kernel by kernel, and copies the results out.
// Variables stay where they are.
//
// Holds the memory that the work uses. Thread-safe: runs that come at once are enqueued one after
// the other.
class CapturedRun {
 public:
  enum class Outcome {
    kDone,
    kNotNow,    // nothing was done: a variable's value is shared by somebody else for now
    kOutdated,  // nothing was done, nor ever will be: a variable's value lies elsewhere
  };

  // Runs the kernels of the program on a capture. `device`, which must be a CapturingDevice, and
  // `program` outlive the run. If the work cannot be captured, such as that of a kernel which waits
  // for the device, Run() fails with FAILED_PRECONDITION, and is_possible() is false. Returns null
  // if it cannot be captured now, but perhaps later: see CapturedState.
  static std::shared_ptr<CapturedRun> Make(const StraightProgram& program, const CapturePlan& plan,
                                           Device& device, StepContext& step,
                                           absl::Span<const Tensor> args);
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;

  bool is_possible() const { return status_.ok(); }
  const std::vector<Shape>& shapes() const { return shapes_; }

  // Waits for results in host memory. Requires arguments of shapes(). Errors: those of the device.
  absl::StatusOr<Outcome> Run(const StepContext& step, absl::Span<const Tensor> args,
                              std::vector<Tensor>* results);

 private:
  struct Input {
    int arg;
    Tensor on_device;
  };
  struct Output {
    std::vector<int> results;
    Tensor on_device;
    MemoryKind kind;  // of the results
  };
  // A result that depends on shapes alone, or a handle.
  struct FixedResult {
    int result;
    Tensor value;
  };

  CapturedRun(Device& device, const StepContext& step, absl::Span<const Tensor> args);
  absl::Status Capture(const StraightProgram& program, const CapturePlan& plan, StepContext& step,
                       absl::Span<const Tensor> args);
  // Finds the variables of the handles that arguments and nodes give.
  absl::Status FindVariables(const StraightProgram& program, const CapturePlan& plan,
                             StepContext& step, absl::Span<const Tensor> args);
  absl::Status RunNodes(const StraightProgram& program, const CapturePlan& plan, StepContext& step,
                        absl::Span<const Tensor> args);
  absl::Status AddOutput(KernelContext& context, const Tensor& value, std::vector<int> results,
                         MemoryKind kind);
  absl::StatusOr<Tensor> Upload(const Tensor& value);
  // Copying much more than the kernels compute costs more than the launches that are saved.
  absl::Status CheckCopies(const StraightProgram& program) const;
  bool HasVariablesOf(const StepContext& step, absl::Span<const Tensor> args) const;
  absl::Status EnqueueAll(absl::Span<const Tensor> args, std::vector<Tensor>* outputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Device& device_;
  const ResourceManager* const resources_;
  const std::vector<Shape> shapes_;
  absl::Status status_;

  absl::Mutex mu_;  // held while a run is enqueued
  // The device outlives its buffers, and the work is destroyed before them.
  std::unique_ptr<CaptureDevice> capture_device_;
  std::vector<Input> inputs_;
  std::vector<Tensor> uploads_;  // that depend on shapes alone
  std::vector<Output> outputs_;
  std::vector<FixedResult> fixed_results_;
  // Arguments that are handles, and the variables that they named.
  std::vector<std::pair<int, IntrusivePtr<Variable>>> handle_args_;
  CapturedState state_;
  bool waits_ = true;  // for the results
  std::unique_ptr<CapturedWork> work_;
};

}  // namespace tessera

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
#include "runtime/exec/straight_program.h"

namespace tessera {

// For arguments of one combination of shapes. A run copies the arguments to where the work reads
// them, enqueues the work at once instead of kernel by kernel, and copies the results back.
//
// Holds the memory that the work uses. Thread-safe: runs that come at once are enqueued one after
// the other.
class CapturedRun {
 public:
  // Runs the kernels of the program on a capture. `device`, which must be a CapturingDevice, and
  // `program` outlive the run. If the work cannot be captured, such as that of a kernel which waits
  // for the device, Run() fails with FAILED_PRECONDITION, and is_possible() is false.
  static std::shared_ptr<CapturedRun> Make(const StraightProgram& program, const CapturePlan& plan,
                                           Device& device, StepContext& step,
                                           absl::Span<const Tensor> args);
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;

  bool is_possible() const { return status_.ok(); }
  const std::vector<Shape>& shapes() const { return shapes_; }

  // Waits for the results. Requires arguments of shapes(). Errors: those of the device.
  absl::Status Run(absl::Span<const Tensor> args, std::vector<Tensor>* results);

 private:
  struct Input {
    int arg;
    Tensor on_device;
  };
  struct Output {
    std::vector<int> results;
    Tensor on_device;
  };
  // A result that depends on shapes alone.
  struct FixedResult {
    int result;
    Tensor value;
  };

  CapturedRun(Device& device, absl::Span<const Tensor> args);
  absl::Status Capture(const StraightProgram& program, const CapturePlan& plan, StepContext& step,
                       absl::Span<const Tensor> args);
  absl::Status RunNodes(const StraightProgram& program, const CapturePlan& plan, StepContext& step,
                        absl::Span<const Tensor> args);
  absl::StatusOr<Tensor> Upload(const Tensor& value);
  absl::Status EnqueueAll(absl::Span<const Tensor> args, std::vector<Tensor>* outputs)
      ABSL_LOCKS_EXCLUDED(mu_);

  Device& device_;
  const std::vector<Shape> shapes_;
  absl::Status status_;

  absl::Mutex mu_;  // held while a run is enqueued
  // The device outlives its buffers, and the work is destroyed before them.
  std::unique_ptr<CaptureDevice> capture_device_;
  std::vector<Input> inputs_;
  std::vector<Tensor> uploads_;  // that depend on shapes alone
  std::vector<Output> outputs_;
  std::vector<FixedResult> fixed_results_;
  std::unique_ptr<CapturedWork> work_;
};

}  // namespace tessera

// Runs one kernel outside of any graph, for tests and benchmarks.
//
//   ASSERT_OK_AND_ASSIGN(Tensor z, RunOp("AddV2", {Tensor::Scalar(1.f), Tensor::Scalar(2.f)}));
//   RunOp("Cast", {x}, {{"DstT", DType::kInt32}})
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// A kernel built once and run many times. Used by one thread at a time.
class KernelRunner {
 public:
  struct Options {
    // Positions of inputs that are the same in every run. The kernel is told their values.
    std::vector<int> constants;
    Numerics numerics = Numerics::kFast;
  };

  // Attributes that name the inputs' dtypes, and the length of a list of inputs, may be left out:
  // they follow from `inputs`, whose values do not matter here unless they are constants.
  // Errors: those of CompleteAttrs(), CreateKernel() and OpKernel::Prepare(); NOT_FOUND for an
  // unknown op.
  static absl::StatusOr<KernelRunner> Create(absl::string_view op, absl::Span<const Tensor> inputs,
                                             AttrMap attrs = {}) {
    return Create(op, inputs, std::move(attrs), Options());
  }
  static absl::StatusOr<KernelRunner> Create(absl::string_view op, absl::Span<const Tensor> inputs,
                                             AttrMap attrs, const Options& options);

  // The outputs. Inputs that the caller does not hold elsewhere may be worked on in place. `pool`
  // may be null. Errors: the kernel's.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> inputs, ThreadPool* pool = nullptr);

  // For benchmarks: the same without the allocations around it. Output i is in outputs()[i].tensor;
  // inputs stay with the caller.
  absl::Status RunInPlace(absl::Span<Value> inputs, ThreadPool* pool = nullptr);
  absl::Span<Value> outputs() { return absl::MakeSpan(outputs_); }

 private:
  KernelRunner() = default;

  std::unique_ptr<Device> device_;
  std::unique_ptr<ResourceManager> resources_;
  std::unique_ptr<OpKernel> kernel_;
  std::vector<DType> output_types_;
  std::vector<KernelContext::InputSlot> slots_;
  std::vector<Value> outputs_;
};

// Builds and runs a kernel of one output. Errors: as above, and INVALID_ARGUMENT for another number
// of outputs.
absl::StatusOr<Tensor> RunOp(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {},
                             ThreadPool* pool = nullptr);

}  // namespace tessera

// Kernels of the accelerator for tests: those of the CPU, run later on the stream's thread.
#pragma once

#include <memory>
#include <vector>

#include "runtime/framework/kernel.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {

// Enqueues the CPU's kernel of the same op.
//
//   REGISTER_KERNEL("ConcatV2", kTestAccelerator, DeferredKernel).HostMemory("axis");
//
// Compute() takes the output shapes from the op's shape function, which must know them exactly from
// the shapes of the inputs and the values of those in host memory, allocates the outputs, and
// enqueues the rest. Errors of the CPU's kernel become errors of the stream, with the node's name.
// An op that writes variables, by handle or by reference, gives each of them new memory of the same
// shape, so that reads which were enqueued before keep the old value.
//
// The enqueued work holds addresses of device memory, not shares in it, as a launch on a real
// accelerator does. Every input must lie in the memory that the registration says; an input that
// does not fails the kernel with INTERNAL.
class DeferredKernel : public OpKernel {
 public:
  explicit DeferredKernel(const KernelBuild& build) : DeferredKernel(build, build.op().shape_fn) {}
  // `shape_fn` takes the place of the op's. It sees a variable's shape in place of the handle's.
  DeferredKernel(const KernelBuild& build, ShapeFn shape_fn);
  absl::Status Compute(KernelContext& ctx) override;

 private:
  class HostKernel;
  struct Launch;
  struct VariableInput;

  // The node's variables, in the order of their addresses.
  absl::StatusOr<std::vector<VariableInput>> Variables(const KernelContext& ctx) const;
  // Enqueues the work. Requires the locks of all variables.
  absl::Status Enqueue(KernelContext& ctx, absl::Span<VariableInput> variables) const;
  absl::Status SetInputs(const KernelContext& ctx, absl::Span<const VariableInput> variables,
                         Launch* launch) const;
  absl::StatusOr<std::vector<PartialShape>> OutputShapes(
      const KernelContext& ctx, absl::Span<const VariableInput> variables) const;
  absl::Status SetOutputs(KernelContext& ctx, absl::Span<const VariableInput> variables,
                          Launch* launch) const;

  const OpDef& op_;
  const AttrMap attrs_;
  const std::vector<DType> input_types_;
  const ShapeFn shape_fn_;
  KernelMemory memory_;
  std::shared_ptr<HostKernel> host_;  // shared with what is enqueued, which may outlive this
};

}  // namespace tessera

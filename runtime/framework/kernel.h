// Kernels: the code of an op on a device.
//
//   // Gathers rows. Errors: INVALID_ARGUMENT for an index out of range.
//   class GatherKernel : public OpKernel {
//    public:
//     explicit GatherKernel(const KernelBuild& build) : batch_dims_(build.attr<int64_t>("batch_dims")) {}
//     absl::Status Compute(KernelContext& ctx) override;
//   };
//   REGISTER_KERNEL("GatherV2", kCpu, GatherKernel).HostMemory("axis");
#pragma once

#include <functional>
#include <memory>
#include <string>
#include "absl/strings/string_view.h"
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/framework/cancellation.h"
#include "runtime/framework/device.h"
#include "runtime/framework/op.h"
#include "runtime/framework/output_memory.h"
#include "runtime/framework/rendezvous.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

class KernelContext;

// What travels along an edge: a tensor, or a reference to a variable.
struct Value {
  Tensor tensor;
  IntrusivePtr<Variable> ref;
};

// A function ready to be called. Thread-safe.
struct StepContext;
class CallableFunction {
 public:
  virtual ~CallableFunction() = default;
  virtual int num_args() const = 0;
  virtual int num_results() const = 0;
  // Runs the body within the caller's step; *results gets one tensor a result.
  virtual absl::Status Call(StepContext& step, absl::Span<const Tensor> args,
                            std::vector<Tensor>* results) const = 0;
  // As Call(), but takes the arguments, which are unspecified afterwards: the body may work in
  // their memory.
  virtual absl::Status CallConsuming(StepContext& step, absl::Span<Tensor> args,
                                     std::vector<Tensor>* results) const {
    return Call(step, args, results);
  }
  // True if the body may wait for what happens outside the step (a queue, a Recv): a kernel then
  // calls it by CallAsync(), which holds no thread while it waits.
  virtual bool may_wait() const { return false; }
  // CallConsuming() that ends with `done`, called once, possibly before this returns. `step`,
  // `args` and `results` must live until then.
  virtual void CallAsync(StepContext& step, absl::Span<Tensor> args, std::vector<Tensor>* results,
                         std::function<void(absl::Status)> done) const {
    done(CallConsuming(step, args, results));
  }
};

// Makes functions callable; given to kernels that call some (If, While, MapDataset). Results live
// as long as the runtime, that is, as the session. Thread-safe.
class FunctionRuntime {
 public:
  virtual ~FunctionRuntime() = default;
  // Errors: NOT_FOUND for an unknown function; whatever compiling its body gives.
  virtual absl::StatusOr<const CallableFunction*> Instantiate(const FunctionRef& function) = 0;
};

// What all kernels of one step share. Lives as long as the step.
struct StepContext {
  int64_t step_id = 0;
  ResourceManager* resources = nullptr;       // the session's
  ResourceManager* step_resources = nullptr;  // dropped at the step's end: TensorArrays, stacks
  CancellationManager* cancellation = nullptr;
  Rendezvous* rendezvous = nullptr;
  ThreadPool* intra_op_pool = nullptr;  // null: loops run on the calling thread
  ThreadPool* inter_op_pool = nullptr;  // null: everything runs on the calling thread
  Allocator* allocator = HeapAllocator();
  absl::Time deadline = absl::InfiniteFuture();
  int call_depth = 0;  // nesting of function calls, bounded against endless recursion
};

// What a kernel's constructor sees: its node, with complete attributes. Errors in attributes are
// collected, and creation fails with the first one.
class KernelBuild {
 public:
  KernelBuild(const OpDef& op, absl::string_view node_name, const AttrMap& attrs,
              std::vector<DType> input_types, std::vector<DType> output_types, Device* device,
              FunctionRuntime* functions)
      : op_(op),
        node_name_(node_name),
        attrs_(attrs),
        input_types_(std::move(input_types)),
        output_types_(std::move(output_types)),
        device_(device),
        functions_(functions) {}

  const std::string& node_name() const { return node_name_; }
  const OpDef& op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  Device* device() const { return device_; }

  // The attribute, or a default-built T and a recorded error.
  template <typename T>
  T attr(absl::string_view name) const {
    absl::StatusOr<T> value = GetAttr<T>(attrs_, name);
    if (!value.ok()) {
      Fail(value.status());
      return T();
    }
    return *std::move(value);
  }
  bool has_attr(absl::string_view name) const { return attrs_.find(name) != attrs_.end(); }
  // Positions of a declared argument's tensors.
  ArgRange inputs(absl::string_view arg) const;
  ArgRange outputs(absl::string_view arg) const;
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }
  int num_inputs() const { return static_cast<int>(input_types_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  // The function an attribute names; null and a recorded error if it cannot be had.
  const CallableFunction* function(absl::string_view attr_name) const;
  const CallableFunction* function(const FunctionRef& ref) const;

  // Makes the kernel's creation fail. The first failure counts.
  void Fail(const absl::Status& status) const {
    if (status_.ok()) status_ = status;
  }
  const absl::Status& status() const { return status_; }

 private:
  const OpDef& op_;
  const std::string node_name_;
  const AttrMap& attrs_;
  const std::vector<DType> input_types_;
  const std::vector<DType> output_types_;
  Device* const device_;
  FunctionRuntime* const functions_;
  mutable absl::Status status_;
};

// The code of one node. One object serves all steps at once: Compute() must be thread-safe, and
// state beyond the step belongs into resources.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  virtual absl::Status Compute(KernelContext& ctx) = 0;
  // False if Compute() takes less than about a microsecond: not worth another thread.
  virtual bool IsExpensive() const { return true; }
  // True for AsyncOpKernel.
  virtual bool IsAsync() const { return false; }
};

// A kernel that may wait for something outside its step (a queue, a Recv). It holds no thread
// while it waits.
class AsyncOpKernel : public OpKernel {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // `ctx` lives until `done` is called, exactly once, from any thread.
  virtual void ComputeAsync(KernelContext& ctx, DoneCallback done) = 0;
  // Waits for ComputeAsync().
  absl::Status Compute(KernelContext& ctx) final;
  bool IsAsync() const final { return true; }
};

// One execution of a kernel: its inputs, a place for its outputs, and the step.
// Used by one thread at a time.
class KernelContext {
 public:
  // Position of an input in the value array; `last_use` allows taking the value.
  struct InputSlot {
    uint32_t index : 31;
    uint32_t last_use : 1;
  };

  KernelContext(StepContext& step, Device* device) : step_(&step), device_(device) {}

  // Points the context at a node, the place of whose first output is `first_place` if there is an
  // OutputMemory; for executors.
  void Bind(Value* values, absl::Span<const InputSlot> inputs, Value* outputs,
            absl::Span<const DType> output_types, uint32_t first_place = 0) {
    first_place_ = first_place;
    values_ = values;
    inputs_ = inputs;
    outputs_ = outputs;
    output_types_ = output_types;
  }
  // Outputs get their memory there, and not from the step's allocator; for executors.
  void set_output_memory(OutputMemory* memory) { output_memory_ = memory; }
  // Frame and iteration of v1 loops, for keys of Send and Recv and of stacks.
  void set_frame(int64_t frame_id, int64_t iteration, bool is_input_dead) {
    frame_id_ = frame_id;
    iteration_ = iteration;
    is_input_dead_ = is_input_dead;
  }
  int64_t frame_id() const { return frame_id_; }
  int64_t iteration() const { return iteration_; }
  bool is_input_dead() const { return is_input_dead_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DType output_type(int i) const { return output_types_[i]; }

  // False for inputs that others read too, constants among them: what is derived from them may be
  // worth keeping.
  bool IsLastUse(int i) const { return inputs_[i].last_use; }
  // The tensor at input i. Inputs that came over a reference edge but are declared as plain ones
  // are read by the executor before. No value for a dead input of Merge.
  const Tensor& input(int i) const { return values_[inputs_[i].index].tensor; }
  // The variable at an input declared Ref(T).
  Variable* ref_input(int i) const { return values_[inputs_[i].index].ref.get(); }
  bool has_ref(int i) const { return values_[inputs_[i].index].ref.operator bool(); }
  // The input by value: moved out if nobody needs it after this kernel, else shared. The input is
  // unspecified afterwards.
  Tensor TakeInput(int i) {
    Value& value = values_[inputs_[i].index];
    return inputs_[i].last_use ? std::move(value.tensor) : value.tensor;
  }

  void set_output(int i, Tensor tensor) { outputs_[i].tensor = std::move(tensor); }
  void set_ref_output(int i, IntrusivePtr<Variable> variable) {
    outputs_[i].ref = std::move(variable);
  }
  Tensor& output(int i) { return outputs_[i].tensor; }
  Value& output_value(int i) { return outputs_[i]; }

  // An uninitialised output of the declared dtype (strings are empty).
  // The pointer is valid until the kernel returns.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape) {
    return AllocateOutput(i, RemoveRef(output_types_[i]), shape);
  }
  absl::StatusOr<Tensor*> AllocateOutput(int i, DType dtype, const Shape& shape);
  // Output i in the memory of the first of `candidates` that is dead after this kernel, is
  // held by nobody else, has the output's dtype and as many bytes; else newly allocated. An
  // elementwise kernel may read the candidates and write the output index by index.
  // Once forwarded, the candidate must be read through the output.
  absl::StatusOr<Tensor*> ForwardOrAllocateOutput(std::initializer_list<int> candidates, int i,
                                                  const Shape& shape);
  // Scratch memory for this execution.
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) {
    return Tensor::Allocate(dtype, shape, step_->allocator);
  }

  StepContext& step() const { return *step_; }
  Device* device() const { return device_; }
  ResourceManager& resources() const { return *step_->resources; }
  ThreadPool* pool() const { return step_->intra_op_pool; }
  bool IsCancelled() const { return step_->cancellation && step_->cancellation->IsCancelled(); }

  // Loop over [0, total) on the step's intra-op threads; see ThreadPool::ParallelFor.
  void ParallelFor(int64_t total, double cost_per_item,
                   absl::FunctionRef<void(int64_t, int64_t)> body) {
    tessera::ParallelFor(step_->intra_op_pool, total, cost_per_item, body);
  }

  // The resource behind the handle at input i.
  template <typename T>
  absl::StatusOr<IntrusivePtr<T>> Resource(int i) const {
    const Tensor& handle = input(i);
    if (handle.dtype() != DType::kResource || handle.num_elements() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a resource handle, is ", handle.ToString()));
    }
    return LookupResource<T>(*step_->resources, handle.scalar<ResourceHandle>());
  }

 private:
  StepContext* step_;
  Device* device_;
  OutputMemory* output_memory_ = nullptr;
  uint32_t first_place_ = 0;
  Value* values_ = nullptr;
  absl::Span<const InputSlot> inputs_;
  Value* outputs_ = nullptr;
  absl::Span<const DType> output_types_;
  int64_t frame_id_ = 0;
  int64_t iteration_ = 0;
  bool is_input_dead_ = false;
};

}  // namespace tessera

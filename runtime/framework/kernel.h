// Kernels: the implementation of an op on a device.
//
//   // Gathers rows. Errors: INVALID_ARGUMENT for an index out of range.
//   class GatherKernel : public OpKernel {
//    public:
//     explicit GatherKernel(const KernelBuild& build)
//         : batch_dims_(build.attr<int64_t>("batch_dims")) {}
//     absl::Status Compute(KernelContext& ctx) override;
//
//    private:
//     const int64_t batch_dims_;
//   };
//   REGISTER_KERNEL("GatherV2", kCpu, GatherKernel).HostMemory("axis");
//
// Inputs, outputs and scratch memory lie in the memory of the kernel's device. The exceptions are
// arguments that the registration declares as host memory, and dtypes that only the host holds
// (string, resource, variant). A kernel allocates through its KernelContext, which chooses the
// right kind of memory, and calls no allocator by itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/framework/device.h"
#include "runtime/framework/op.h"
#include "runtime/framework/output_memory.h"
#include "runtime/framework/rendezvous.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

class KernelContext;

// The value of an edge: a tensor, or a reference to a variable.
struct Value {
  Tensor tensor;
  IntrusivePtr<Variable> ref;
};

struct StepContext;

// A function that is ready to be called. Arguments and results lie in the kind of memory in which
// the device that the function was made for keeps their dtype: Device::KindOf(). Thread-safe.
class CallableFunction {
 public:
  virtual ~CallableFunction() = default;
  virtual int num_args() const = 0;
  virtual int num_results() const = 0;
  // Runs the body within the caller's step. *results gets one tensor for each result.
  virtual absl::Status Call(StepContext& step, absl::Span<const Tensor> args,
                            std::vector<Tensor>* results) const = 0;
  // Does the same, and consumes the arguments, which are unspecified afterwards: the body may work
  // in their memory.
  virtual absl::Status CallConsuming(StepContext& step, absl::Span<Tensor> args,
                                     std::vector<Tensor>* results) const {
    return Call(step, args, results);
  }
  // Returns whether the body may wait for an event outside the step (a queue, a Recv). A kernel
  // then calls CallAsync(), which blocks no thread while the body waits.
  virtual bool may_wait() const { return false; }
  // Does what CallConsuming() does, and then calls `done`, once and possibly before this returns.
  // `step`, `args` and `results` must live until then.
  virtual void CallAsync(StepContext& step, absl::Span<Tensor> args, std::vector<Tensor>* results,
                         std::function<void(absl::Status)> done) const {
    done(CallConsuming(step, args, results));
  }
};

// The caller that a function is made callable for.
struct FunctionUse {
  // The device of the caller, which holds the arguments and will hold the results. Null: the host.
  Device* device = nullptr;
  // True if the caller reads the results (the condition of a loop), which then lie in host memory.
  bool results_on_host = false;
};

// Makes functions callable for kernels that call some (If, While, MapDataset). The functions live
// as long as the runtime, which lives as long as its session. Thread-safe.
class FunctionRuntime {
 public:
  virtual ~FunctionRuntime() = default;
  // Errors: NOT_FOUND for an unknown function; those of compiling its body.
  virtual absl::StatusOr<const CallableFunction*> Instantiate(const FunctionRef& function,
                                                              const FunctionUse& use) = 0;
};

// The state that all kernels of one step share. Lives as long as the step.
struct StepContext {
  int64_t step_id = 0;
  ResourceManager* resources = nullptr;       // of the session
  ResourceManager* step_resources = nullptr;  // TensorArrays and stacks, dropped when the step ends
  CancellationManager* cancellation = nullptr;
  Rendezvous* rendezvous = nullptr;
  ThreadPool* intra_op_pool = nullptr;  // null: loops run on the calling thread
  ThreadPool* inter_op_pool = nullptr;  // null: everything runs on the calling thread
  absl::Time deadline = absl::InfiniteFuture();
  int call_depth = 0;  // nesting of function calls, bounded against endless recursion
};

// Errors: DEADLINE_EXCEEDED after the deadline of the step, CANCELLED if it was cancelled.
absl::Status CheckDeadlineAndCancellation(const StepContext& step);
// The same, without a call for a step that has no deadline.
inline absl::Status CheckGoingOn(const StepContext& step) {
  if (step.deadline == absl::InfiniteFuture() &&
      (step.cancellation == nullptr || !step.cancellation->IsCancelled())) [[likely]] {
    return absl::OkStatus();
  }
  return CheckDeadlineAndCancellation(step);
}

// How exact and how reproducible matrix products and convolutions are.
enum class Numerics : uint8_t {
  // The fastest algorithm whose errors stay within 1e-5 of the largest output. The last bits of a
  // row may depend on the rows beside it and on the number of threads.
  kFast,
  // The result of a row has the same bits in every batch, beside any other rows and with any number
  // of threads. Errors are at most three times those of a plain product.
  kStrict,
};

// The node for which the constructor of a kernel is called, with complete attributes. The
// constructor records errors in attributes, and the creation of the kernel fails with the first of
// them.
class KernelBuild {
 public:
  // The facts beyond the node itself that are known when its kernel is created for a program.
  struct Surroundings {
    // For each input, the tensor if it is the same in every run of every program that will use the
    // kernel, else null. Empty if nothing is known.
    std::vector<const Tensor*> constant_inputs;
    Numerics numerics = Numerics::kFast;
  };

  KernelBuild(const OpDef& op, absl::string_view node_name, const AttrMap& attrs,
              std::vector<DType> input_types, std::vector<DType> output_types, Device* device,
              FunctionRuntime* functions)
      : KernelBuild(op, node_name, attrs, std::move(input_types), std::move(output_types), device,
                    functions, Surroundings()) {}
  KernelBuild(const OpDef& op, absl::string_view node_name, const AttrMap& attrs,
              std::vector<DType> input_types, std::vector<DType> output_types, Device* device,
              FunctionRuntime* functions, Surroundings surroundings)
      : op_(op),
        node_name_(node_name),
        attrs_(attrs),
        input_types_(std::move(input_types)),
        output_types_(std::move(output_types)),
        device_(device),
        functions_(functions),
        surroundings_(std::move(surroundings)) {}

  const std::string& node_name() const { return node_name_; }
  const OpDef& op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  Device* device() const { return device_; }

  // Returns the attribute. If it cannot be had, records an error and returns a default-built T.
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
  // Returns the positions of the tensors of a declared argument.
  ArgRange inputs(absl::string_view arg) const;
  ArgRange outputs(absl::string_view arg) const;
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }
  int num_inputs() const { return static_cast<int>(input_types_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  // Returns the value of input i, in host memory, if it is the same in every run; else null. The
  // kernel may keep a share of it, and what it derives from it, as long as it lives.
  const Tensor* constant_input(int i) const {
    const auto& constants = surroundings_.constant_inputs;
    return static_cast<size_t>(i) < constants.size() ? constants[i] : nullptr;
  }
  Numerics numerics() const { return surroundings_.numerics; }
  // Returns the function that an attribute names, made for the device of the kernel. If it cannot
  // be had, records an error and returns null. `results_on_host`: see FunctionUse.
  const CallableFunction* function(absl::string_view attr_name, bool results_on_host = false) const;
  const CallableFunction* function(const FunctionRef& ref, bool results_on_host = false) const;

  // Makes the creation of the kernel fail. The first failure counts.
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
  const Surroundings surroundings_;
  mutable absl::Status status_;
};

// The surroundings of OpKernel::Prepare().
struct PrepareContext {
  Device* device = nullptr;    // of the kernel; null: the host
  ThreadPool* pool = nullptr;  // null: the calling thread
};

// The kernel of one node. One object serves all steps at once: Compute() must be thread-safe, and
// state that outlives a step belongs into resources.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  virtual absl::Status Compute(KernelContext& ctx) = 0;
  // Packs or uploads what derives from constant inputs. Called once, after the constructor and
  // before the first Compute(), when the program of the kernel is compiled. Errors fail the
  // compilation.
  virtual absl::Status Prepare(const PrepareContext& /*context*/) { return absl::OkStatus(); }
  // False if Compute() takes less than about a microsecond, which is not worth another thread.
  virtual bool IsExpensive() const { return true; }
  // True for AsyncOpKernel.
  virtual bool IsAsync() const { return false; }
};

// A kernel that may wait for an event outside its step (a queue, a Recv). It blocks no thread while
// it waits.
class AsyncOpKernel : public OpKernel {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // Must call `done` exactly once, from any thread. `ctx` lives until then.
  virtual void ComputeAsync(KernelContext& ctx, DoneCallback done) = 0;
  // Waits for ComputeAsync().
  absl::Status Compute(KernelContext& ctx) final;
  bool IsAsync() const final { return true; }
};

// One execution of a kernel: its inputs, a place for its outputs, and the step.
// Used by one thread at a time.
class KernelContext {
 public:
  // The position of an input in the array of values. `last_use` allows the kernel to take the
  // value.
  struct InputSlot {
    uint32_t index : 31;
    uint32_t last_use : 1;
  };

  KernelContext(StepContext& step, Device* device)
      : step_(&step),
        device_(device),
        device_kind_(device == nullptr ? MemoryKind::kHost : device->memory_kind()) {}

  // Points the context at a node; for executors. `first_place` is the place of its first output if
  // there is an OutputMemory. `output_kinds` holds the memory kind of each output; null means that
  // all are host memory.
  void Bind(Value* values, absl::Span<const InputSlot> inputs, Value* outputs,
            absl::Span<const DType> output_types, uint32_t first_place = 0,
            const MemoryKind* output_kinds = nullptr) {
    first_place_ = first_place;
    output_kinds_ = output_kinds;
    values_ = values;
    inputs_ = inputs;
    outputs_ = outputs;
    output_types_ = output_types;
  }
  // Makes outputs in the memory of the device come from `memory`, and not from the allocator of the
  // device; for executors.
  void set_output_memory(OutputMemory* memory) { output_memory_ = memory; }
  // The frame and iteration of v1 loops, for the keys of Send, Recv and stacks.
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

  // Returns false for inputs that others read too, such as constants.
  bool IsLastUse(int i) const { return inputs_[i].last_use; }
  // Returns the tensor of input i. If the input comes over a reference edge but is declared as a
  // plain tensor, the executor has read the variable before. A dead input of Merge has no value.
  const Tensor& input(int i) const { return values_[inputs_[i].index].tensor; }
  // Returns the variable of an input that is declared Ref(T).
  Variable* ref_input(int i) const { return values_[inputs_[i].index].ref.get(); }
  bool has_ref(int i) const { return values_[inputs_[i].index].ref.operator bool(); }
  // Returns the input by value. It is moved out if nobody reads it after this kernel, else shared.
  // The input is unspecified afterwards.
  Tensor TakeInput(int i) {
    Value& value = values_[inputs_[i].index];
    return inputs_[i].last_use ? std::move(value.tensor) : value.tensor;
  }

  void set_output(int i, Tensor tensor) { outputs_[i].tensor = std::move(tensor); }
  void set_ref_output(int i, IntrusivePtr<Variable> variable) {
    outputs_[i].ref = std::move(variable);
  }
  Tensor& output(int i) { return outputs_[i].tensor; }

  // Returns the memory kind that output i must have by the registration of the kernel.
  MemoryKind output_kind(int i) const {
    return output_kinds_ == nullptr ? MemoryKind::kHost : output_kinds_[i];
  }
  // Allocates output i with the declared dtype, uninitialised (strings are empty), in the memory
  // kind of the output. The pointer is valid until the kernel returns.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape) {
    return AllocateOutput(i, RemoveRef(output_types_[i]), shape);
  }
  absl::StatusOr<Tensor*> AllocateOutput(int i, DType dtype, const Shape& shape);
  // Makes output i from the first of the inputs `candidates` whose memory it can take over: the
  // input is dead after this kernel, nobody else holds its buffer, and it has the dtype, the memory
  // kind and the number of elements of the output. Allocates the output if there is none. An
  // elementwise kernel may read the candidates and write the output index by index. An input that
  // was forwarded must be read through the output.
  absl::StatusOr<Tensor*> ForwardOrAllocateOutput(std::initializer_list<int> candidates, int i,
                                                  const Shape& shape);
  // Allocates scratch memory for this execution, in the memory of the device or of the given kind.
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) {
    return AllocateTemp(dtype, shape, device_kind_);
  }
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape, MemoryKind kind) {
    return Tensor::Allocate(dtype, shape, allocator(kind));
  }
  // Allocates device memory for data that outlives the step: the value of a variable, an element of
  // a list.
  absl::StatusOr<Tensor> AllocateState(DType dtype, const Shape& shape) {
    return Tensor::Allocate(dtype, shape, allocator(device_kind_));
  }
  // Allocates memory of the device, or of the given kind, with all bits zero. On an accelerator it
  // is zero for work that is enqueued later.
  absl::StatusOr<Tensor> AllocateZeros(DType dtype, const Shape& shape) {
    return AllocateZeros(dtype, shape, device_kind_);
  }
  absl::StatusOr<Tensor> AllocateZeros(DType dtype, const Shape& shape, MemoryKind kind);
  // Returns a copy of `tensor` in a new buffer of the same memory kind.
  absl::StatusOr<Tensor> CopyOf(const Tensor& tensor);
  // Returns an allocator for functions that allocate without a context. Never null.
  Allocator* allocator(MemoryKind kind) const {
    return device_ == nullptr ? HeapAllocator() : device_->allocator(kind);
  }
  Allocator* host_allocator() const { return allocator(MemoryKind::kHost); }

  StepContext& step() const { return *step_; }
  // Null stands for the host, in tests and while constants are folded.
  Device* device() const { return device_; }
  // The stream on which kernels of an accelerator enqueue their work. Null on a device without one.
  Stream* stream() const { return device_ == nullptr ? nullptr : device_->stream(); }
  ResourceManager& resources() const { return *step_->resources; }
  ThreadPool* pool() const { return step_->intra_op_pool; }
  // Returns an error once the step has ended. A kernel that may run long asks now and then, and
  // returns the error.
  absl::Status CheckGoingOn() const { return tessera::CheckGoingOn(*step_); }

  // Runs a loop over [0, total) on the intra-op threads of the step. See ThreadPool::ParallelFor.
  void ParallelFor(int64_t total, double cost_per_item,
                   absl::FunctionRef<void(int64_t, int64_t)> body) {
    tessera::ParallelFor(step_->intra_op_pool, total, cost_per_item, body);
  }

  // Returns the resource that the handle at input i names.
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
  MemoryKind device_kind_;  // the kind of the memory that the device works in
  OutputMemory* output_memory_ = nullptr;
  const MemoryKind* output_kinds_ = nullptr;
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

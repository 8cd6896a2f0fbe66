// Kernels: the code of an op on a device.
//
//   // Gathers rows. Errors: INVALID_ARGUMENT for an index out of range.
//   class GatherKernel : public OpKernel {
//    public:
//     explicit GatherKernel(const KernelBuild& build) :
//     batch_dims_(build.attr<int64_t>("batch_dims")) {} absl::Status Compute(KernelContext& ctx)
//     override;
//   };
//   REGISTER_KERNEL("GatherV2", kCpu, GatherKernel).HostMemory("axis");
//
// A kernel finds its inputs, and allocates its outputs and scratch memory, in the memory of its
// device, but for the arguments that its registration declares as host memory and for dtypes that
// only the host holds (string, resource, variant). It calls no allocator by itself: what it
// allocates through its KernelContext is memory of the right kind.
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

// What travels along an edge: a tensor, or a reference to a variable.
struct Value {
  Tensor tensor;
  IntrusivePtr<Variable> ref;
};

struct StepContext;

// A function ready to be called. Arguments and results lie where the device that it was made for
// keeps values of their dtype: Device::KindOf(). Thread-safe.
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

// For whom a function is made callable.
struct FunctionUse {
  // The caller's device, where the arguments are and the results will be. Null: the host.
  Device* device = nullptr;
  // The results are wanted in host memory instead: the caller looks at them (a loop's condition).
  bool results_on_host = false;
};

// Makes functions callable; given to kernels that call some (If, While, MapDataset). Results live
// as long as the runtime, that is, as the session. Thread-safe.
class FunctionRuntime {
 public:
  virtual ~FunctionRuntime() = default;
  // Errors: NOT_FOUND for an unknown function; whatever compiling its body gives.
  virtual absl::StatusOr<const CallableFunction*> Instantiate(const FunctionRef& function,
                                                              const FunctionUse& use) = 0;
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
  absl::Time deadline = absl::InfiniteFuture();
  int call_depth = 0;  // nesting of function calls, bounded against endless recursion
};

// How exact, and how reproducible, products and convolutions are.
enum class Numerics : uint8_t {
  // The quickest algorithm whose errors stay within 1e-5 of the largest output. The last bits of a
  // row may depend on the rows beside it and on the number of threads.
  kFast,
  // A row's result has the same bits whatever its batch, its neighbours and the threads; errors are
  // at most three times those of a plain product.
  kStrict,
};

// What a kernel's constructor sees: its node, with complete attributes. Errors in attributes are
// collected, and creation fails with the first one.
class KernelBuild {
 public:
  // What is known beyond the node itself when its kernel is made for a program.
  struct Surroundings {
    // By input: the tensor if the input is the same in every run of every program that will use the
    // kernel, else null. Empty: nothing is known.
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
  // The value of input i, in host memory, if it is the same in every run; else null. The kernel may
  // keep a share of it, and what it derives from it, for its life.
  const Tensor* constant_input(int i) const {
    const auto& constants = surroundings_.constant_inputs;
    return static_cast<size_t>(i) < constants.size() ? constants[i] : nullptr;
  }
  Numerics numerics() const { return surroundings_.numerics; }
  // The function an attribute names, made for the kernel's device; null and a recorded error if it
  // cannot be had. `results_on_host`: see FunctionUse.
  const CallableFunction* function(absl::string_view attr_name, bool results_on_host = false) const;
  const CallableFunction* function(const FunctionRef& ref, bool results_on_host = false) const;

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
  const Surroundings surroundings_;
  mutable absl::Status status_;
};

// What OpKernel::Prepare() may work with.
struct PrepareContext {
  Device* device = nullptr;    // the kernel's; null: the host
  ThreadPool* pool = nullptr;  // null: the calling thread
};

// The code of one node. One object serves all steps at once: Compute() must be thread-safe, and
// state beyond the step belongs into resources.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  virtual absl::Status Compute(KernelContext& ctx) = 0;
  // Called once, after the constructor and before the first Compute(), when the kernel's program is
  // compiled: packs or uploads what derives from constant inputs. Errors fail the compilation.
  virtual absl::Status Prepare(const PrepareContext& /*context*/) { return absl::OkStatus(); }
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
  // Outputs of this memory kind come from `memory`, and not from the device's allocator; for
  // executors.
  void set_output_memory(MemoryKind kind, OutputMemory* memory) {
    output_memory_[static_cast<int>(kind)] = memory;
  }
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

  // The memory kind that output i must have: what the kernel's registration says.
  MemoryKind output_kind(int i) const {
    return output_kinds_ == nullptr ? MemoryKind::kHost : output_kinds_[i];
  }
  // An uninitialised output of the declared dtype (strings are empty), in the memory kind of the
  // output. The pointer is valid until the kernel returns.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape) {
    return AllocateOutput(i, RemoveRef(output_types_[i]), shape);
  }
  absl::StatusOr<Tensor*> AllocateOutput(int i, DType dtype, const Shape& shape);
  // Output i in the memory of the first of `candidates` that is dead after this kernel, is held by
  // nobody else, has the output's dtype, memory kind and as many bytes; else newly allocated. An
  // elementwise kernel may read the candidates and write the output index by index.
  // Once forwarded, the candidate must be read through the output.
  absl::StatusOr<Tensor*> ForwardOrAllocateOutput(std::initializer_list<int> candidates, int i,
                                                  const Shape& shape);
  // Scratch memory for this execution: in the memory of the device, or in `kind`.
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) {
    return AllocateTemp(dtype, shape, DeviceKind());
  }
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape, MemoryKind kind) {
    return Tensor::Allocate(dtype, shape, allocator(kind));
  }
  // Memory of the device for what outlives the step: the value of a variable, an element of a list.
  absl::StatusOr<Tensor> AllocateState(DType dtype, const Shape& shape) {
    return Tensor::Allocate(dtype, shape, allocator(DeviceKind()));
  }
  // Any of these with all bits zero; on an accelerator they are zero for work enqueued later.
  absl::StatusOr<Tensor> AllocateZeros(DType dtype, const Shape& shape) {
    return AllocateZeros(dtype, shape, DeviceKind());
  }
  absl::StatusOr<Tensor> AllocateZeros(DType dtype, const Shape& shape, MemoryKind kind);
  // A copy of `tensor` in a buffer of its own, in the same kind of memory.
  absl::StatusOr<Tensor> CopyOf(const Tensor& tensor);
  // For helpers that allocate without a context. Never null.
  Allocator* allocator(MemoryKind kind) const {
    return device_ == nullptr ? HeapAllocator() : device_->allocator(kind);
  }
  Allocator* host_allocator() const { return allocator(MemoryKind::kHost); }

  StepContext& step() const { return *step_; }
  // Null: the host, in tests and while constants are folded.
  Device* device() const { return device_; }
  // Where kernels of an accelerator enqueue their work. Null on a device without a stream.
  Stream* stream() const { return device_ == nullptr ? nullptr : device_->stream(); }
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
  MemoryKind DeviceKind() const {
    return device_ == nullptr ? MemoryKind::kHost : device_->memory_kind();
  }

  StepContext* step_;
  Device* device_;
  OutputMemory* output_memory_[kNumMemoryKinds] = {};
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

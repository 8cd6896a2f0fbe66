// Queues: making, filling, emptying and closing them.
#include <algorithm>
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/tensor_queue.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Makes a queue. A queue that pads takes shapes with unknown dimensions. The others take none, and
// read a shape of unknown rank as that of a scalar, as TensorFlow does.
// Errors: INVALID_ARGUMENT for attributes that do not fit each other, and for another queue of the
// same name that differs.
class MakeQueueKernel : public ResourceHandleKernel {
 public:
  explicit MakeQueueKernel(const KernelBuild& build, bool pads = false)
      : ResourceHandleKernel(build, TensorQueue::kTypeName) {
    options_.name = name();
    options_.pads = pads;
    options_.dtypes = build.attr<std::vector<DType>>("component_types");
    options_.shapes = build.attr<std::vector<PartialShape>>("shapes");
    if (!options_.shapes.empty() && options_.shapes.size() != options_.dtypes.size()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("there are ", options_.shapes.size(),
                                                         " shapes for ", options_.dtypes.size(),
                                                         " components")));
    }
    for (PartialShape& shape : options_.shapes) {
      if (pads || shape.IsFullyDefined()) continue;
      if (shape.known_rank()) {
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("the shape ", shape.ToString(), " of a component is not fully known")));
      }
      shape = PartialShape(Shape());
    }
    const int64_t capacity = build.attr<int64_t>("capacity");
    if (capacity >= 0) options_.capacity = capacity;
  }

 protected:
  absl::Status CheckFits(const Resource& resource) const override {
    const auto* const queue = dynamic_cast<const TensorQueue*>(&resource);
    if (queue != nullptr && queue->options().dtypes == options_.dtypes &&
        queue->options().shapes == options_.shapes &&
        queue->options().capacity == options_.capacity) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the ", resource.DebugString(), " has other components, shapes or capacity"));
  }

  TensorQueue::Options OptionsIn(const KernelContext& ctx) const {
    TensorQueue::Options options = options_;
    options.allocator = ctx.host_allocator();
    return options;
  }

  TensorQueue::Options options_;
};

class FifoQueueKernel : public MakeQueueKernel {
 public:
  using MakeQueueKernel::MakeQueueKernel;

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    return IntrusivePtr<Resource>(MakeRefCounted<FifoQueue>(OptionsIn(ctx)));
  }
};
REGISTER_KERNEL("FIFOQueue", kCpu, FifoQueueKernel);
REGISTER_KERNEL("FIFOQueueV2", kCpu, FifoQueueKernel);

class PaddingQueueKernel : public FifoQueueKernel {
 public:
  explicit PaddingQueueKernel(const KernelBuild& build) : FifoQueueKernel(build, /*pads=*/true) {
    const bool known = std::all_of(options_.shapes.begin(), options_.shapes.end(),
                                   [](const PartialShape& shape) { return shape.known_rank(); });
    if (!known || options_.shapes.size() != options_.dtypes.size()) {
      build.Fail(absl::InvalidArgumentError("each component must have a shape of known rank"));
    }
  }
};
REGISTER_KERNEL("PaddingFIFOQueue", kCpu, PaddingQueueKernel);
REGISTER_KERNEL("PaddingFIFOQueueV2", kCpu, PaddingQueueKernel);

class ShuffleQueueKernel : public MakeQueueKernel {
 public:
  explicit ShuffleQueueKernel(const KernelBuild& build)
      : MakeQueueKernel(build), generator_(build) {
    options_.min_after_dequeue = build.attr<int64_t>("min_after_dequeue");
    if (options_.min_after_dequeue < 0 || options_.min_after_dequeue >= options_.capacity) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("min_after_dequeue = ", options_.min_after_dequeue,
                       " must be in [0, capacity = ", options_.capacity, ")")));
    }
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    return IntrusivePtr<Resource>(MakeRefCounted<ShuffleQueue>(OptionsIn(ctx), generator_.first()));
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("RandomShuffleQueue", kCpu, ShuffleQueueKernel);
REGISTER_KERNEL("RandomShuffleQueueV2", kCpu, ShuffleQueueKernel);

// Errors: INVALID_ARGUMENT also, as in TensorFlow, for components without shapes.
class PriorityQueueKernel : public MakeQueueKernel {
 public:
  explicit PriorityQueueKernel(const KernelBuild& build)
      : MakeQueueKernel(build), has_shapes_(!options_.shapes.empty()) {
    options_.dtypes.insert(options_.dtypes.begin(), DType::kInt64);
    options_.shapes.insert(options_.shapes.begin(), PartialShape(Shape()));
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    if (!has_shapes_) {
      return absl::InvalidArgumentError("the components of a priority queue must have shapes");
    }
    return IntrusivePtr<Resource>(MakeRefCounted<PriorityQueue>(OptionsIn(ctx)));
  }

 private:
  const bool has_shapes_;
};
REGISTER_KERNEL("PriorityQueue", kCpu, PriorityQueueKernel);
REGISTER_KERNEL("PriorityQueueV2", kCpu, PriorityQueueKernel);

using QueuePtr = IntrusivePtr<TensorQueue>;

// Base of the ops that may wait at a queue, their first input.
class QueueKernel : public AsyncOpKernel {
 public:
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<QueuePtr> queue = ResourceInput<TensorQueue>(ctx, 0);
    if (!queue.ok()) {
      done(queue.status());
      return;
    }
    // The queue lives until the operation has ended.
    absl::Status status = Start(
        ctx, **queue, [queue = *queue, done](absl::Status status) { done(std::move(status)); });
    if (!status.ok()) done(std::move(status));
  }

 protected:
  explicit QueueKernel(const KernelBuild& build) {
    if (build.has_attr("timeout_ms") && build.attr<int64_t>("timeout_ms") != -1) {
      build.Fail(absl::InvalidArgumentError("timeout_ms must be -1: queues have no timeouts"));
    }
  }
  // Starts the operation, or returns why it cannot be started, and then never calls `done`.
  virtual absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) = 0;
};

class EnqueueKernel : public QueueKernel {
 public:
  explicit EnqueueKernel(const KernelBuild& build) : QueueKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) override {
    TensorQueue::Element element;
    for (int i = 1; i < ctx.num_inputs(); ++i) element.push_back(ctx.TakeInput(i));
    RETURN_IF_ERROR(queue.CheckComponents(element, /*is_batch=*/false));
    std::deque<TensorQueue::Element> elements;
    elements.push_back(std::move(element));
    queue.Enqueue(std::move(elements), ctx.step().cancellation, std::move(done));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QueueEnqueue", kCpu, EnqueueKernel);
REGISTER_KERNEL("QueueEnqueueV2", kCpu, EnqueueKernel);

class EnqueueManyKernel : public QueueKernel {
 public:
  explicit EnqueueManyKernel(const KernelBuild& build) : QueueKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) override {
    TensorQueue::Element batch;
    for (int i = 1; i < ctx.num_inputs(); ++i) batch.push_back(ctx.TakeInput(i));
    RETURN_IF_ERROR(queue.CheckComponents(batch, /*is_batch=*/true));
    // Empty rows cost their sender nothing.
    constexpr int64_t kMostRows = int64_t{1} << 25;
    if (batch[0].dim(0) > kMostRows) {
      return absl::ResourceExhaustedError(absl::StrCat("a queue takes at most ", kMostRows,
                                                       " elements at a time, not those of ",
                                                       batch[0].shape().ToString()));
    }
    std::deque<TensorQueue::Element> elements(batch[0].dim(0));
    for (size_t row = 0; row < elements.size(); ++row) {
      for (const Tensor& component : batch) {
        elements[row].push_back(component.SubSlice(static_cast<int64_t>(row)));
      }
    }
    queue.Enqueue(std::move(elements), ctx.step().cancellation, std::move(done));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QueueEnqueueMany", kCpu, EnqueueManyKernel);
REGISTER_KERNEL("QueueEnqueueManyV2", kCpu, EnqueueManyKernel);

// Errors: INVALID_ARGUMENT if the queue does not hold what the node gives.
absl::Status CheckOutputs(const KernelContext& ctx, const TensorQueue& queue) {
  const std::vector<DType>& dtypes = queue.options().dtypes;
  bool fits = static_cast<int>(dtypes.size()) == ctx.num_outputs();
  for (int i = 0; fits && i < ctx.num_outputs(); ++i) fits = dtypes[i] == ctx.output_type(i);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the components of the ", queue.DebugString(), " are not component_types"));
}

void SetOutputs(KernelContext& ctx, TensorQueue::Element element) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move(element[i]));
}

class DequeueKernel : public QueueKernel {
 public:
  explicit DequeueKernel(const KernelBuild& build) : QueueKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) override {
    RETURN_IF_ERROR(CheckOutputs(ctx, queue));
    auto elements = std::make_shared<std::vector<TensorQueue::Element>>();
    queue.Dequeue(1, /*allow_fewer=*/false, ctx.step().cancellation, elements.get(),
                  [&ctx, elements, done = std::move(done)](absl::Status status) {
                    if (status.ok()) SetOutputs(ctx, std::move((*elements)[0]));
                    done(std::move(status));
                  });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QueueDequeue", kCpu, DequeueKernel);
REGISTER_KERNEL("QueueDequeueV2", kCpu, DequeueKernel);

// `kAllowFewer`: QueueDequeueUpTo.
template <bool kAllowFewer>
class DequeueManyKernel : public QueueKernel {
 public:
  explicit DequeueManyKernel(const KernelBuild& build) : QueueKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) override {
    RETURN_IF_ERROR(CheckOutputs(ctx, queue));
    ASSIGN_OR_RETURN(const int64_t count, ReadIndexScalar(ctx.input(1), "n"));
    if (count < 0) {
      return absl::InvalidArgumentError(absl::StrCat("n must not be negative, is ", count));
    }
    if (queue.options().shapes.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("batches of the ", queue.DebugString(),
                                                     " need components with specified shapes"));
    }
    auto elements = std::make_shared<std::vector<TensorQueue::Element>>();
    queue.Dequeue(count, kAllowFewer, ctx.step().cancellation, elements.get(),
                  [&ctx, &queue, elements, done = std::move(done)](absl::Status status) {
                    if (status.ok()) {
                      absl::StatusOr<TensorQueue::Element> batch = queue.Batch(*elements);
                      status = batch.status();
                      if (batch.ok()) SetOutputs(ctx, *std::move(batch));
                    }
                    done(std::move(status));
                  });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QueueDequeueMany", kCpu, DequeueManyKernel<false>);
REGISTER_KERNEL("QueueDequeueManyV2", kCpu, DequeueManyKernel<false>);
REGISTER_KERNEL("QueueDequeueUpTo", kCpu, DequeueManyKernel<true>);
REGISTER_KERNEL("QueueDequeueUpToV2", kCpu, DequeueManyKernel<true>);

class QueueCloseKernel : public QueueKernel {
 public:
  explicit QueueCloseKernel(const KernelBuild& build)
      : QueueKernel(build), cancel_pending_(build.attr<bool>("cancel_pending_enqueues")) {}

 protected:
  absl::Status Start(KernelContext& ctx, TensorQueue& queue, DoneCallback done) override {
    queue.Close(cancel_pending_, ctx.step().cancellation, std::move(done));
    return absl::OkStatus();
  }

 private:
  const bool cancel_pending_;
};
REGISTER_KERNEL("QueueClose", kCpu, QueueCloseKernel);
REGISTER_KERNEL("QueueCloseV2", kCpu, QueueCloseKernel);

class QueueSizeKernel : public OpKernel {
 public:
  explicit QueueSizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const QueuePtr queue, ResourceInput<TensorQueue>(ctx, 0));
    return SetScalarOutput(ctx, 0, static_cast<int32_t>(queue->Size()));
  }
};
REGISTER_KERNEL("QueueSize", kCpu, QueueSizeKernel);
REGISTER_KERNEL("QueueSizeV2", kCpu, QueueSizeKernel);

class QueueIsClosedKernel : public OpKernel {
 public:
  explicit QueueIsClosedKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const QueuePtr queue, ResourceInput<TensorQueue>(ctx, 0));
    return SetScalarOutput(ctx, 0, queue->IsClosed());
  }
};
REGISTER_KERNEL("QueueIsClosed", kCpu, QueueIsClosedKernel);
REGISTER_KERNEL("QueueIsClosedV2", kCpu, QueueIsClosedKernel);

}  // namespace
}  // namespace tessera

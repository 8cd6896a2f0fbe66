// Batch, Unbatch and UnbatchGrad: a batch whose rows are worked on by the step of one task, while
// the steps of the others wait.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/batching/batch_rows.h"
#include "runtime/kernels/batching/batching_attrs.h"
#include "runtime/kernels/batching/joined_parts.h"
#include "runtime/kernels/batching/tensor_mailbox.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

using Done = AsyncOpKernel::DoneCallback;

// The time for which a tensor is kept whose taker has no timeout, such as a gradient. It may come
// never, if its step has failed.
constexpr absl::Duration kKeepGradients = absl::Minutes(10);

// Returns a number that no other execution of Batch in this process gets.
int64_t NewId() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

// The last task gets the joined rows and the index of them, with the id, the first row and the end
// of each task; the others get no rows and no index. Each gets its id.
absl::StatusOr<std::vector<std::vector<Tensor>>> JoinForLast(
    const std::vector<int64_t>& allowed_sizes, Batch& batch) {
  const int64_t padded_rows = batch.rows == 0 ? 0 : PaddedRows(allowed_sizes, batch.rows);
  ASSIGN_OR_RETURN(std::vector<Tensor> joined, JoinInputs(batch, padded_rows));
  std::vector<std::vector<Tensor>> outputs;
  std::vector<int64_t> index;
  int64_t row = 0;
  for (const auto& task : batch.tasks) {
    const int64_t id = NewId();
    index.insert(index.end(), {id, row, row + task->rows});
    row += task->rows;
    std::vector<Tensor>& own = outputs.emplace_back();
    for (const Tensor& input : task->inputs) own.push_back(input.Slice(0, 0));
    ASSIGN_OR_RETURN(Tensor no_index, Tensor::Allocate(DType::kInt64, {0, 3}, task->allocator));
    ASSIGN_OR_RETURN(Tensor own_id, ScalarIn(task->allocator, id));
    own.push_back(std::move(no_index));
    own.push_back(std::move(own_id));
  }
  std::vector<Tensor>& last = outputs.back();
  std::move(joined.begin(), joined.end(), last.begin());
  ASSIGN_OR_RETURN(last[joined.size()], VectorIn<int64_t>(batch.tasks.back()->allocator, index));
  last[joined.size()].Reshape({static_cast<int64_t>(batch.tasks.size()), 3});
  return outputs;
}

// Errors: INVALID_ARGUMENT for inputs without rows, with different numbers of rows, or with more
// than max_batch_size; those of BatchScheduler::Add().
class BatchKernel : public AsyncOpKernel {
 public:
  explicit BatchKernel(const KernelBuild& build) : attrs_(build) {
    process_ = [sizes = attrs_.allowed_batch_sizes](Batch& batch) {
      return JoinForLast(sizes, batch);
    };
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    const absl::Status status = Add(ctx, done);
    if (!status.ok()) done(status);
  }

 private:
  // After an error, `done` is the caller's to call.
  absl::Status Add(KernelContext& ctx, const Done& done) const {
    auto task = std::make_shared<BatchTask>();
    for (int i = 0; i < ctx.num_inputs(); ++i) task->inputs.push_back(ctx.TakeInput(i));
    task->step = &ctx.step();
    task->allocator = ctx.host_allocator();
    ASSIGN_OR_RETURN(task->rows, NumRows(task->inputs));
    ASSIGN_OR_RETURN(const IntrusivePtr<BatchScheduler> scheduler, attrs_.Scheduler(ctx));
    task->done = [&ctx, done, scheduler](absl::StatusOr<std::vector<Tensor>> outputs) {
      if (!outputs.ok()) return done(outputs.status());
      for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move((*outputs)[i]));
      done(absl::OkStatus());
    };
    scheduler->Add(attrs_.queue, attrs_.options, process_, std::move(task));
    return absl::OkStatus();
  }

  const BatchingAttrs attrs_;
  BatchProcessor process_;
};
REGISTER_KERNEL("Batch", kCpu, BatchKernel);

struct Part {
  int64_t id, begin, end;
};

// Reads the index that Batch gives. Errors: INVALID_ARGUMENT if it is malformed, or names rows that
// a tensor of `rows` rows lacks.
absl::StatusOr<std::vector<Part>> ReadIndex(const Tensor& index, int64_t rows) {
  if (index.rank() != 2 || index.dim(1) != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_index must have shape [N,3], has ", index.shape().ToString()));
  }
  std::vector<Part> parts;
  const absl::Span<const int64_t> flat = index.flat<int64_t>();
  for (size_t i = 0; i < flat.size(); i += 3) {
    const Part part{flat[i], flat[i + 1], flat[i + 2]};
    if (part.begin < 0 || part.end < part.begin || part.end > rows) {
      return absl::InvalidArgumentError(absl::StrCat("batch_index names rows ", part.begin, " to ",
                                                     part.end, ", and there are ", rows));
    }
    parts.push_back(part);
  }
  return parts;
}

// A kernel whose executions in several steps meet in a mailbox.
class MailboxKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) override {
    const absl::Status status = Exchange(ctx, done);
    if (!status.ok()) done(status);
  }

 protected:
  explicit MailboxKernel(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = build.node_name();
  }

  // After an error, `done` is the caller's to call.
  virtual absl::Status Exchange(KernelContext& ctx, const Done& done) const = 0;

  absl::StatusOr<IntrusivePtr<TensorMailbox>> Mailbox(const KernelContext& ctx) const {
    ASSIGN_OR_RETURN(
        const IntrusivePtr<Resource> resource,
        ctx.resources().LookupOrCreate(container_, TensorMailbox::kTypeName, name_,
                                       []() -> absl::StatusOr<IntrusivePtr<Resource>> {
                                         return IntrusivePtr<Resource>(new TensorMailbox());
                                       }));
    return IntrusivePtr<TensorMailbox>(static_cast<TensorMailbox*>(resource.get()));
  }

 private:
  const std::string container_;
  std::string name_;
};

// The step with the batch gives each step its rows.
class UnbatchKernel : public MailboxKernel {
 public:
  explicit UnbatchKernel(const KernelBuild& build)
      : MailboxKernel(build), timeout_(absl::Microseconds(build.attr<int64_t>("timeout_micros"))) {}

 private:
  absl::Status Exchange(KernelContext& ctx, const Done& done) const override {
    const Tensor batched = ctx.TakeInput(0);
    if (batched.rank() == 0) {
      return absl::InvalidArgumentError("batched_tensor must have at least one dimension");
    }
    ASSIGN_OR_RETURN(const std::vector<Part> parts, ReadIndex(ctx.input(1), batched.dim(0)));
    ASSIGN_OR_RETURN(const int64_t id, ReadIntegerOfScalar(ctx.input(2), "id"));
    ASSIGN_OR_RETURN(const IntrusivePtr<TensorMailbox> mailbox, Mailbox(ctx));
    for (const Part& part : parts) {
      mailbox->Put(part.id, batched.Slice(part.begin, part.end), timeout_);
    }
    mailbox->Take(id, ctx.step(), timeout_, [&ctx, done, mailbox](absl::StatusOr<Tensor> own) {
      if (own.ok()) ctx.set_output(0, *std::move(own));
      done(own.status());
    });
    return absl::OkStatus();
  }

  const absl::Duration timeout_;
};
REGISTER_KERNEL("Unbatch", kCpu, UnbatchKernel);

// The step with the batch gets the gradients of all steps, joined; the others get no rows.
class UnbatchGradKernel : public MailboxKernel {
 public:
  explicit UnbatchGradKernel(const KernelBuild& build) : MailboxKernel(build) {}

 private:
  absl::Status Exchange(KernelContext& ctx, const Done& done) const override {
    const Tensor& original = ctx.input(0);
    const Tensor& grad = ctx.input(2);
    if (original.rank() == 0 || grad.rank() == 0) {
      return absl::InvalidArgumentError("original_input and grad must have at least one dimension");
    }
    ASSIGN_OR_RETURN(const std::vector<Part> parts, ReadIndex(ctx.input(1), original.dim(0)));
    ASSIGN_OR_RETURN(const int64_t id, ReadIntegerOfScalar(ctx.input(3), "id"));
    ASSIGN_OR_RETURN(const IntrusivePtr<TensorMailbox> mailbox, Mailbox(ctx));
    if (parts.empty()) {
      ASSIGN_OR_RETURN(Tensor zeros,
                       ctx.AllocateZeros(original.dtype(), original.shape(), MemoryKind::kHost));
      ctx.set_output(0, std::move(zeros));
      mailbox->Put(id, grad, kKeepGradients);
      done(absl::OkStatus());
      return absl::OkStatus();
    }
    mailbox->Put(id, grad, kKeepGradients);
    const auto joined = std::make_shared<JoinedParts>(
        parts.size(), ctx.host_allocator(),
        [&ctx, done, mailbox](absl::StatusOr<std::vector<Tensor>> grads) {
          if (grads.ok()) ctx.set_output(0, std::move(grads->front()));
          done(grads.status());
        });
    for (size_t i = 0; i < parts.size(); ++i) {
      mailbox->Take(parts[i].id, ctx.step(), absl::InfiniteDuration(),
                    [joined, i](absl::StatusOr<Tensor> grad) {
                      if (!grad.ok()) return joined->Put(i, grad.status());
                      joined->Put(i, std::vector<Tensor>{*std::move(grad)});
                    });
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("UnbatchGrad", kCpu, UnbatchGradKernel);

}  // namespace
}  // namespace tessera

// Ops on v1 readers: ReaderRead, ReaderReadUpTo, and the reader's counts and position.
#include <atomic>
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/tensor_queue.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/io/record_reader.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

using Record = RecordReader::Record;
using ReaderPtr = IntrusivePtr<RecordReader>;
using QueuePtr = IntrusivePtr<TensorQueue>;

// One read, which takes names of files out of the queue until there is a record. It lives as long
// as something is under way.
class ReadCall : public std::enable_shared_from_this<ReadCall> {
 public:
  using Done = std::function<void(absl::StatusOr<std::vector<Record>>)>;

  ReadCall(ReaderPtr reader, QueuePtr queue, int64_t count, CancellationManager* cancellation,
           Done done)
      : reader_(std::move(reader)),
        queue_(std::move(queue)),
        count_(count),
        cancellation_(cancellation),
        done_(std::move(done)) {}

  // Goes on until there is a result, or the queue has to be waited for. A loop, because a queue may
  // hold any number of empty files.
  void Run() {
    while (true) {
      std::vector<Record> records;
      const absl::StatusOr<bool> read = reader_->Read(count_, &records);
      if (!read.ok() || *read) {
        done_(read.ok() ? absl::StatusOr<std::vector<Record>>(std::move(records)) : read.status());
        return;
      }
      dequeued_.clear();
      turn_ = Turn::kNobody;
      queue_->Dequeue(1, /*allow_fewer=*/false, cancellation_, &dequeued_,
                      [call = shared_from_this()](absl::Status status) {
                        call->dequeue_status_ = std::move(status);
                        // Whoever comes second goes on.
                        if (call->turn_.exchange(Turn::kSecond) == Turn::kSecond) call->Continue();
                      });
      if (turn_.exchange(Turn::kSecond) == Turn::kNobody) return;
      if (!TakeWork()) return;
    }
  }

 private:
  enum class Turn : uint8_t { kNobody, kSecond };

  void Continue() {
    if (TakeWork()) Run();
  }

  // Gives the reader what came out of the queue. Returns false if the call has ended.
  bool TakeWork() {
    absl::Status status = dequeue_status_;
    if (status.ok()) {
      const Tensor& name = dequeued_[0][0];
      if (name.num_elements() == 1) {
        reader_->AddWork(name.scalar<std::string>());
        return true;
      }
      status = absl::InvalidArgumentError(
          "Expected to dequeue a one-element string tensor with the name of a file");
    }
    done_(std::move(status));
    return false;
  }

  const ReaderPtr reader_;
  const QueuePtr queue_;
  const int64_t count_;
  CancellationManager* const cancellation_;
  const Done done_;
  std::vector<TensorQueue::Element> dequeued_;
  absl::Status dequeue_status_;
  std::atomic<Turn> turn_{Turn::kNobody};
};

// Base of the ops that read records.
class ReadKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(KernelContext& ctx, DoneCallback done) final {
    absl::Status status = Start(ctx, done);
    if (!status.ok()) done(std::move(status));
  }

 protected:
  virtual absl::StatusOr<int64_t> Count(KernelContext& ctx) const = 0;
  virtual absl::Status Give(KernelContext& ctx, std::vector<Record> records) const = 0;

 private:
  // Calls `done` unless it fails.
  absl::Status Start(KernelContext& ctx, const DoneCallback& done) {
    ASSIGN_OR_RETURN(ReaderPtr reader, ResourceInput<RecordReader>(ctx, 0));
    ASSIGN_OR_RETURN(QueuePtr queue, ResourceInput<TensorQueue>(ctx, 1));
    ASSIGN_OR_RETURN(const int64_t count, Count(ctx));
    if (queue->options().dtypes != std::vector<DType>{DType::kString}) {
      return absl::InvalidArgumentError(
          absl::StrCat("a reader needs a queue with one component, the names of files, not the ",
                       queue->DebugString()));
    }
    auto call = std::make_shared<ReadCall>(
        std::move(reader), std::move(queue), count, ctx.step().cancellation,
        [this, &ctx, done](absl::StatusOr<std::vector<Record>> records) {
          done(records.ok() ? Give(ctx, *std::move(records)) : records.status());
        });
    call->Run();
    return absl::OkStatus();
  }
};

class ReadOneKernel final : public ReadKernel {
 public:
  explicit ReadOneKernel(const KernelBuild&) {}

 protected:
  absl::StatusOr<int64_t> Count(KernelContext&) const override { return 1; }
  absl::Status Give(KernelContext& ctx, std::vector<Record> records) const override {
    RETURN_IF_ERROR(SetScalarOutput(ctx, 0, std::move(records[0].key)));
    return SetScalarOutput(ctx, 1, std::move(records[0].value));
  }
};
REGISTER_KERNEL("ReaderRead", kCpu, ReadOneKernel);
REGISTER_KERNEL("ReaderReadV2", kCpu, ReadOneKernel);

// Errors: INVALID_ARGUMENT for a negative number of records.
class ReadUpToKernel final : public ReadKernel {
 public:
  explicit ReadUpToKernel(const KernelBuild&) {}

 protected:
  absl::StatusOr<int64_t> Count(KernelContext& ctx) const override {
    ASSIGN_OR_RETURN(const int64_t count, ReadIndexScalar(ctx.input(2), "num_records"));
    if (count >= 0) return count;
    return absl::InvalidArgumentError(absl::StrCat("num_records must not be negative, is ", count));
  }
  absl::Status Give(KernelContext& ctx, std::vector<Record> records) const override {
    const Shape shape = {static_cast<int64_t>(records.size())};
    ASSIGN_OR_RETURN(Tensor* const keys, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, shape));
    for (size_t i = 0; i < records.size(); ++i) {
      keys->data<std::string>()[i] = std::move(records[i].key);
      values->data<std::string>()[i] = std::move(records[i].value);
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ReaderReadUpTo", kCpu, ReadUpToKernel);
REGISTER_KERNEL("ReaderReadUpToV2", kCpu, ReadUpToKernel);

template <int64_t (RecordReader::*kCount)() const>
class CountKernel final : public OpKernel {
 public:
  explicit CountKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ReaderPtr reader, ResourceInput<RecordReader>(ctx, 0));
    return SetScalarOutput(ctx, 0, (*reader.*kCount)());
  }
};
using NumRecords = CountKernel<&RecordReader::num_records_produced>;
using NumWorkUnits = CountKernel<&RecordReader::num_work_units_completed>;
REGISTER_KERNEL("ReaderNumRecordsProduced", kCpu, NumRecords);
REGISTER_KERNEL("ReaderNumRecordsProducedV2", kCpu, NumRecords);
REGISTER_KERNEL("ReaderNumWorkUnitsCompleted", kCpu, NumWorkUnits);
REGISTER_KERNEL("ReaderNumWorkUnitsCompletedV2", kCpu, NumWorkUnits);

class ResetKernel final : public OpKernel {
 public:
  explicit ResetKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ReaderPtr reader, ResourceInput<RecordReader>(ctx, 0));
    reader->Reset();
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ReaderReset", kCpu, ResetKernel);
REGISTER_KERNEL("ReaderResetV2", kCpu, ResetKernel);

class SerializeStateKernel final : public OpKernel {
 public:
  explicit SerializeStateKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ReaderPtr reader, ResourceInput<RecordReader>(ctx, 0));
    ASSIGN_OR_RETURN(std::string state, reader->SerializeState());
    return SetScalarOutput(ctx, 0, std::move(state));
  }
};
REGISTER_KERNEL("ReaderSerializeState", kCpu, SerializeStateKernel);
REGISTER_KERNEL("ReaderSerializeStateV2", kCpu, SerializeStateKernel);

class RestoreStateKernel final : public OpKernel {
 public:
  explicit RestoreStateKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ReaderPtr reader, ResourceInput<RecordReader>(ctx, 0));
    if (ctx.input(1).rank() != 0) {
      return absl::InvalidArgumentError("Reader state must be scalar, but had shape: " +
                                        ctx.input(1).shape().ToString());
    }
    return reader->RestoreState(ctx.input(1).scalar<std::string>());
  }
};
REGISTER_KERNEL("ReaderRestoreState", kCpu, RestoreStateKernel);
REGISTER_KERNEL("ReaderRestoreStateV2", kCpu, RestoreStateKernel);

}  // namespace
}  // namespace tessera

// Iterators that deal the elements of one dataset out to several devices in turn.
#include <deque>

#include "runtime/data/step_mutex.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/iterator_handle_kernels.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Element i is that of device i % num_devices. Elements that come before the one that is asked for
// wait for their devices, without a limit: a device that asks never waits for another. Thread-safe:
// calls take turns, and wait for them as long as their steps last.
class MultiDeviceIterator final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "multi_device_iterator";

  MultiDeviceIterator(ElementSpec spec, int64_t num_devices)
      : spec_(std::move(spec)), num_devices_(num_devices) {}

  const ElementSpec& spec() const { return spec_; }
  int64_t num_devices() const { return num_devices_; }

  // Starts at the beginning of `dataset`. Returns the number of this walk, which calls of Next()
  // have to name. Errors: INVALID_ARGUMENT unless the elements fit the spec.
  absl::StatusOr<int64_t> Start(const StepContext& step, const DatasetPtr& dataset) {
    RETURN_IF_ERROR(spec_.CheckFits(dataset->spec()));
    std::unique_ptr<Iterator> old;  // destroyed after the lock is released
    StepLock lock(&mu_, step);
    RETURN_IF_ERROR(lock.status());
    old = std::exchange(iterator_, dataset->MakeIterator());
    waiting_.assign(num_devices_, {});
    next_device_ = 0;
    return ++walk_;
  }

  // Errors: INVALID_ARGUMENT for another walk than the latest, and a device that is not there;
  // OUT_OF_RANGE at the end; those of the iterator, which go to the device whose element it was.
  absl::StatusOr<Element> Next(StepContext& step, int64_t device, int64_t walk) {
    StepLock lock(&mu_, step);
    RETURN_IF_ERROR(lock.status());
    if (walk != walk_ || iterator_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid incarnation id. Provided: ", walk, "; Expected: ", walk_));
    }
    if (device < 0 || device >= num_devices_) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard_num = ", device, " must be in [0, ", num_devices_, ")"));
    }
    while (waiting_[device].empty()) {
      Element element;
      absl::StatusOr<bool> more = iterator_->Next(step, &element);
      if (!more.ok() && step.cancellation != nullptr && step.cancellation->IsCancelled()) {
        return more.status();
      }
      if (more.ok() && !*more) return absl::OutOfRangeError("End of sequence");
      waiting_[next_device_].push_back(more.ok() ? absl::StatusOr<Element>(std::move(element))
                                                 : absl::StatusOr<Element>(more.status()));
      next_device_ = (next_device_ + 1) % num_devices_;
    }
    absl::StatusOr<Element> element = std::move(waiting_[device].front());
    waiting_[device].pop_front();
    return element;
  }

  absl::Status Stop(const StepContext& step) {
    std::unique_ptr<Iterator> old;
    StepLock lock(&mu_, step);
    RETURN_IF_ERROR(lock.status());
    old = std::move(iterator_);
    waiting_.assign(num_devices_, {});
    return absl::OkStatus();
  }

  std::string DebugString() const override { return "multi-device iterator"; }

 private:
  const ElementSpec spec_;
  const int64_t num_devices_;
  StepMutex mu_;
  std::unique_ptr<Iterator> iterator_ ABSL_GUARDED_BY(mu_);
  std::vector<std::deque<absl::StatusOr<Element>>> waiting_ ABSL_GUARDED_BY(mu_);
  int64_t next_device_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t walk_ ABSL_GUARDED_BY(mu_) = 0;
};

// An anonymous iterator belongs to its handles. Its deleter is a value that nobody looks at.
class MakeKernel final : public ResourceHandleKernel {
 public:
  explicit MakeKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, MultiDeviceIterator::kTypeName),
        spec_(SpecOf(build)),
        num_devices_(static_cast<int64_t>(build.attr<std::vector<std::string>>("devices").size())) {
  }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ResourceHandleKernel::Compute(ctx));
    if (ctx.num_outputs() > 1) RETURN_IF_ERROR(SetScalarOutput(ctx, 1, Variant()));
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(MakeRefCounted<MultiDeviceIterator>(spec_, num_devices_));
  }
  absl::Status CheckFits(const Resource& resource) const override {
    const auto* const iterator = dynamic_cast<const MultiDeviceIterator*>(&resource);
    if (iterator == nullptr || iterator->num_devices() != num_devices_) {
      return absl::InvalidArgumentError(absl::StrCat("the ", resource.DebugString(),
                                                     " is not one of ", num_devices_, " devices"));
    }
    return spec_.CheckFits(iterator->spec());
  }

 private:
  const ElementSpec spec_;
  const int64_t num_devices_;
};
REGISTER_KERNEL("MultiDeviceIterator", kCpu, MakeKernel);
REGISTER_KERNEL("AnonymousMultiDeviceIterator", kCpu, MakeKernel);
REGISTER_KERNEL("AnonymousMultiDeviceIteratorV3", kCpu, MakeKernel);

class InitKernel final : public OpKernel {
 public:
  explicit InitKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<MultiDeviceIterator>(1));
    ASSIGN_OR_RETURN(const int64_t walk, iterator->Start(ctx.step(), dataset));
    return SetScalarOutput(ctx, 0, walk);
  }
};
REGISTER_KERNEL("MultiDeviceIteratorInit", kCpu, InitKernel);

class GetNextKernel final : public OpKernel {
 public:
  explicit GetNextKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<MultiDeviceIterator>(0));
    ASSIGN_OR_RETURN(const int64_t device, ReadIndexScalar(ctx.input(1), "shard_num"));
    ASSIGN_OR_RETURN(const int64_t walk, ReadIndexScalar(ctx.input(2), "incarnation_id"));
    ASSIGN_OR_RETURN(Element element, iterator->Next(ctx.step(), device, walk));
    RETURN_IF_ERROR(spec_.CheckTypes(element));
    for (size_t i = 0; i < element.size(); ++i) {
      ctx.set_output(static_cast<int>(i), std::move(element[i]));
    }
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("MultiDeviceIteratorGetNextFromShard", kCpu, GetNextKernel);

REGISTER_KERNEL("MultiDeviceIteratorToStringHandle", kCpu,
                IteratorToStringHandleKernel<MultiDeviceIterator>);
REGISTER_KERNEL("MultiDeviceIteratorFromStringHandle", kCpu,
                IteratorFromStringHandleKernel<MultiDeviceIterator>);

REGISTER_KERNEL("DeleteMultiDeviceIterator", kCpu, DeleteIteratorKernel<MultiDeviceIterator>);

}  // namespace
}  // namespace tessera

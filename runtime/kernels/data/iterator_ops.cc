// Ops that make iterators and point them at datasets: Iterator, IteratorV2, AnonymousIterator,
// OneShotIterator, MakeIterator, DeleteIterator, and the handles of iterators as strings.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/iterator_handle_kernels.h"
#include "runtime/kernels/data/iterator_resource.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/vector_output.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {
namespace {

// An anonymous iterator belongs to its handles. Its deleter is a value that nobody looks at.
class IteratorKernel : public ResourceHandleKernel {
 public:
  explicit IteratorKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, IteratorResource::kTypeName), spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ResourceHandleKernel::Compute(ctx));
    if (ctx.num_outputs() > 1) RETURN_IF_ERROR(SetScalarOutput(ctx, 1, Variant()));
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(new IteratorResource(spec_));
  }
  absl::Status CheckFits(const Resource& resource) const override {
    const auto* const iterator = dynamic_cast<const IteratorResource*>(&resource);
    if (iterator == nullptr) return absl::InvalidArgumentError("the resource is no iterator");
    return spec_.CheckFits(iterator->spec());
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("Iterator", kCpu, IteratorKernel);
REGISTER_KERNEL("IteratorV2", kCpu, IteratorKernel);
REGISTER_KERNEL("AnonymousIterator", kCpu, IteratorKernel);
REGISTER_KERNEL("AnonymousIteratorV2", kCpu, IteratorKernel);
REGISTER_KERNEL("AnonymousIteratorV3", kCpu, IteratorKernel);

// Its dataset comes from a function, which the first run calls.
class OneShotIteratorKernel final : public IteratorKernel {
 public:
  explicit OneShotIteratorKernel(const KernelBuild& build)
      : IteratorKernel(build), factory_(build.function("dataset_factory"), {}) {
    if (build.status().ok()) build.Fail(factory_.Check(0, 1));
  }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(IteratorKernel::Compute(ctx));
    const auto& handle = ctx.output(0).scalar<ResourceHandle>();
    ASSIGN_OR_RETURN(const auto iterator,
                     LookupResource<IteratorResource>(ctx.resources(), handle));
    return iterator->StartOnce(
        ctx.step(), [&] { return factory_.MakeDataset(ctx.step(), {}, iterator->spec()); });
  }

 private:
  const CapturedFunction factory_;
};
REGISTER_KERNEL("OneShotIterator", kCpu, OneShotIteratorKernel);

class MakeIteratorKernel final : public OpKernel {
 public:
  explicit MakeIteratorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<IteratorResource>(1));
    return iterator->Start(ctx.step(), std::move(dataset));
  }
};
REGISTER_KERNEL("MakeIterator", kCpu, MakeIteratorKernel);

REGISTER_KERNEL("DeleteIterator", kCpu, DeleteIteratorKernel<IteratorResource>);

REGISTER_KERNEL("IteratorToStringHandle", kCpu, IteratorToStringHandleKernel<IteratorResource>);
REGISTER_KERNEL("IteratorFromStringHandle", kCpu, IteratorFromStringHandleKernel<IteratorResource>);
REGISTER_KERNEL("IteratorFromStringHandleV2", kCpu,
                IteratorFromStringHandleKernel<IteratorResource>);

class GetDeviceKernel final : public OpKernel {
 public:
  explicit GetDeviceKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return SetScalarOutput(
        ctx, 0, ctx.device() == nullptr ? std::string() : ctx.device()->name().ToString());
  }
};
REGISTER_KERNEL("IteratorGetDevice", kCpu, GetDeviceKernel);
REGISTER_KERNEL("ExperimentalIteratorGetDevice", kCpu, GetDeviceKernel);

// The position of an iterator, for checkpoints, as a vector of one variant.
class SerializeIteratorKernel final : public OpKernel {
 public:
  explicit SerializeIteratorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<IteratorResource>(0));
    ASSIGN_OR_RETURN(std::shared_ptr<IteratorState> state, iterator->Save(ctx.step()));
    return SetVectorOutput(ctx, 0, {Variant(std::move(state))});
  }
};
REGISTER_KERNEL("SerializeIterator", kCpu, SerializeIteratorKernel);

class DeserializeIteratorKernel final : public OpKernel {
 public:
  explicit DeserializeIteratorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<IteratorResource>(0));
    const Tensor& serialized = ctx.input(1);
    if (serialized.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized must hold one state, holds ", serialized.num_elements()));
    }
    const Variant& variant = serialized.scalar<Variant>();
    std::shared_ptr<const IteratorState> state = variant.share<IteratorState>();
    if (const auto* encoded = variant.get<EncodedVariant>(); encoded != nullptr) {
      ASSIGN_OR_RETURN(state, IteratorState::Decode(*encoded));
    }
    if (state == nullptr) {
      return absl::InvalidArgumentError("serialized holds no state of an iterator");
    }
    return iterator->Restore(ctx.step(), *state);
  }
};
REGISTER_KERNEL("DeserializeIterator", kCpu, DeserializeIteratorKernel);

}  // namespace
}  // namespace tessera

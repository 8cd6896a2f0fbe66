// Staging areas by position (Stage, Unstage) and by key (MapStage, OrderedMapStage, ...). The ops
// find their area by the attributes `container` and `shared_name`.
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/staging_area.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Finds the area of a node, and makes it the first time.
template <typename Area>
class AreaFinder {
 public:
  explicit AreaFinder(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name").empty()
                  ? build.node_name()
                  : build.attr<std::string>("shared_name")),
        limits_{build.attr<int64_t>("capacity"), build.attr<int64_t>("memory_limit")} {}

  absl::StatusOr<IntrusivePtr<Area>> Find(KernelContext& ctx) const {
    ASSIGN_OR_RETURN(
        const IntrusivePtr<Resource> found,
        ctx.resources().LookupOrCreate(
            container_, Area::kTypeName, name_, [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
              return IntrusivePtr<Resource>(MakeRefCounted<Area>(limits_));
            }));
    return IntrusivePtr<Area>(static_cast<Area*>(found.get()));
  }

 private:
  const std::string container_, name_;
  const StagingLimits limits_;
};

// Base of the kernels that may wait.
template <typename Area>
class StagingKernel : public AsyncOpKernel {
 public:
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<IntrusivePtr<Area>> area = finder_.Find(ctx);
    if (!area.ok()) {
      done(area.status());
      return;
    }
    // The area lives until the operation has ended.
    absl::Status status =
        Start(ctx, **area, [area = *area, done](absl::Status status) { done(std::move(status)); });
    if (!status.ok()) done(std::move(status));
  }

 protected:
  explicit StagingKernel(const KernelBuild& build) : finder_(build) {}
  // Starts the operation, or returns why it cannot be started, and then never calls `done`.
  virtual absl::Status Start(KernelContext& ctx, Area& area, DoneCallback done) = 0;

 private:
  const AreaFinder<Area> finder_;
};

// Sets the outputs from `first` on.
// Errors: INVALID_ARGUMENT if the tensors are not what the node declares.
absl::Status SetOutputs(KernelContext& ctx, int first, std::vector<Tensor> tensors) {
  bool fits = static_cast<int>(tensors.size()) == ctx.num_outputs() - first;
  for (size_t i = 0; fits && i < tensors.size(); ++i) {
    fits = tensors[i].dtype() == ctx.output_type(first + static_cast<int>(i));
  }
  if (!fits) {
    return absl::InvalidArgumentError("what was staged does not have the dtypes of the node");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    ctx.set_output(first + static_cast<int>(i), std::move(tensors[i]));
  }
  return absl::OkStatus();
}

class StageKernel : public StagingKernel<StagingArea> {
 public:
  explicit StageKernel(const KernelBuild& build) : StagingKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingArea& area, DoneCallback done) override {
    StagingArea::Element element;
    for (int i = 0; i < ctx.num_inputs(); ++i) element.push_back(ctx.TakeInput(i));
    area.Put(std::move(element), ctx.step().cancellation, std::move(done));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Stage", kCpu, StageKernel);

// Hands an element to the node once it is there.
AsyncOpKernel::DoneCallback Deliver(KernelContext& ctx,
                                    std::shared_ptr<StagingArea::Element> element,
                                    AsyncOpKernel::DoneCallback done) {
  return [&ctx, element = std::move(element), done = std::move(done)](absl::Status status) {
    if (status.ok()) status = SetOutputs(ctx, 0, std::move(*element));
    done(std::move(status));
  };
}

class UnstageKernel : public StagingKernel<StagingArea> {
 public:
  explicit UnstageKernel(const KernelBuild& build) : StagingKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingArea& area, DoneCallback done) override {
    auto element = std::make_shared<StagingArea::Element>();
    area.Take(ctx.step().cancellation, element.get(), Deliver(ctx, element, std::move(done)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Unstage", kCpu, UnstageKernel);

class StagePeekKernel : public StagingKernel<StagingArea> {
 public:
  explicit StagePeekKernel(const KernelBuild& build) : StagingKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingArea& area, DoneCallback done) override {
    ASSIGN_OR_RETURN(const int64_t index, ReadIntegerOfScalar(ctx.input(0), "index"));
    if (index < 0) {
      return absl::InvalidArgumentError(absl::StrCat("index must not be negative, is ", index));
    }
    auto element = std::make_shared<StagingArea::Element>();
    area.Peek(index, ctx.step().cancellation, element.get(),
              Deliver(ctx, element, std::move(done)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StagePeek", kCpu, StagePeekKernel);

// A kernel that gives a number of elements.
template <typename Area, int32_t (Area::*kCount)() const>
class CountKernel : public OpKernel {
 public:
  explicit CountKernel(const KernelBuild& build) : finder_(build) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Area> area, finder_.Find(ctx));
    return SetScalarOutput(ctx, 0, (*area.*kCount)());
  }

 private:
  const AreaFinder<Area> finder_;
};
REGISTER_KERNEL("StageSize", kCpu, CountKernel<StagingArea, &StagingArea::Size>);

template <typename Area>
class ClearKernel : public OpKernel {
 public:
  explicit ClearKernel(const KernelBuild& build) : finder_(build) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Area> area, finder_.Find(ctx));
    area->Clear();
    return absl::OkStatus();
  }

 private:
  const AreaFinder<Area> finder_;
};
REGISTER_KERNEL("StageClear", kCpu, ClearKernel<StagingArea>);

// The components that an input chooses. Errors: INVALID_ARGUMENT unless they are ascending, not
// negative, and as many as `count`.
absl::StatusOr<std::vector<int64_t>> ReadIndices(const Tensor& input, int count) {
  ASSIGN_OR_RETURN(const IndexVector indices, ReadIndexVector(input, "indices"));
  bool ok = static_cast<int>(indices.size()) == count && (indices.empty() || indices[0] >= 0);
  for (size_t i = 1; ok && i < indices.size(); ++i) ok = indices[i - 1] < indices[i];
  if (ok) return std::vector<int64_t>(indices.begin(), indices.end());
  return absl::InvalidArgumentError(
      absl::StrCat("indices must be strictly ascending, not negative, and ", count, " of them"));
}

class MapStageKernel : public StagingKernel<StagingMap> {
 public:
  explicit MapStageKernel(const KernelBuild& build)
      : StagingKernel(build), dtypes_(build.attr<std::vector<DType>>("dtypes")) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingMap& map, DoneCallback done) override {
    StagingMap::Part part;
    ASSIGN_OR_RETURN(part.key, ReadIndexScalar(ctx.input(0), "key"));
    ASSIGN_OR_RETURN(std::vector<int64_t> indices, ReadIndices(ctx.input(1), ctx.num_inputs() - 2));
    for (size_t i = 0; i < indices.size(); ++i) {
      Tensor component = ctx.TakeInput(static_cast<int>(i) + 2);
      if (indices[i] >= static_cast<int64_t>(dtypes_.size()) ||
          component.dtype() != dtypes_[indices[i]]) {
        return absl::InvalidArgumentError(absl::StrCat("there is no component ", indices[i],
                                                       " of type ", DTypeName(component.dtype())));
      }
      part.components.push_back(std::move(component));
    }
    map.Put(static_cast<int64_t>(dtypes_.size()), std::move(indices), std::move(part),
            ctx.step().cancellation, std::move(done));
    return absl::OkStatus();
  }

 private:
  const std::vector<DType> dtypes_;
};

// `kTake`: MapUnstage; else MapPeek.
template <bool kTake>
class MapGetKernel : public StagingKernel<StagingMap> {
 public:
  explicit MapGetKernel(const KernelBuild& build) : StagingKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingMap& map, DoneCallback done) override {
    ASSIGN_OR_RETURN(const int64_t key, ReadIntegerOfScalar(ctx.input(0), "key"));
    ASSIGN_OR_RETURN(std::vector<int64_t> indices, ReadIndices(ctx.input(1), ctx.num_outputs()));
    auto part = std::make_shared<StagingMap::Part>();
    map.Get(key, std::move(indices), kTake, ctx.step().cancellation, part.get(),
            [&ctx, part, done = std::move(done)](absl::Status status) {
              if (status.ok()) status = SetOutputs(ctx, 0, std::move(part->components));
              done(std::move(status));
            });
    return absl::OkStatus();
  }
};

class MapUnstageNoKeyKernel : public StagingKernel<StagingMap> {
 public:
  explicit MapUnstageNoKeyKernel(const KernelBuild& build) : StagingKernel(build) {}

 protected:
  absl::Status Start(KernelContext& ctx, StagingMap& map, DoneCallback done) override {
    ASSIGN_OR_RETURN(std::vector<int64_t> indices,
                     ReadIndices(ctx.input(0), ctx.num_outputs() - 1));
    auto part = std::make_shared<StagingMap::Part>();
    map.TakeAny(std::move(indices), ctx.step().cancellation, part.get(),
                [&ctx, part, done = std::move(done)](absl::Status status) {
                  if (status.ok()) status = SetOutputs(ctx, 1, std::move(part->components));
                  if (status.ok()) status = SetScalarOutput(ctx, 0, part->key);
                  done(std::move(status));
                });
    return absl::OkStatus();
  }
};

using MapSizeKernel = CountKernel<StagingMap, &StagingMap::Size>;
using MapIncompleteSizeKernel = CountKernel<StagingMap, &StagingMap::NumIncomplete>;

// Any order will do for MapUnstageNoKey, so that both kinds of maps are one.
REGISTER_KERNEL("MapStage", kCpu, MapStageKernel);
REGISTER_KERNEL("MapUnstage", kCpu, MapGetKernel<true>);
REGISTER_KERNEL("MapUnstageNoKey", kCpu, MapUnstageNoKeyKernel);
REGISTER_KERNEL("MapPeek", kCpu, MapGetKernel<false>);
REGISTER_KERNEL("MapSize", kCpu, MapSizeKernel);
REGISTER_KERNEL("MapIncompleteSize", kCpu, MapIncompleteSizeKernel);
REGISTER_KERNEL("MapClear", kCpu, ClearKernel<StagingMap>);
REGISTER_KERNEL("OrderedMapStage", kCpu, MapStageKernel);
REGISTER_KERNEL("OrderedMapUnstage", kCpu, MapGetKernel<true>);
REGISTER_KERNEL("OrderedMapUnstageNoKey", kCpu, MapUnstageNoKeyKernel);
REGISTER_KERNEL("OrderedMapPeek", kCpu, MapGetKernel<false>);
REGISTER_KERNEL("OrderedMapSize", kCpu, MapSizeKernel);
REGISTER_KERNEL("OrderedMapIncompleteSize", kCpu, MapIncompleteSizeKernel);
REGISTER_KERNEL("OrderedMapClear", kCpu, ClearKernel<StagingMap>);

}  // namespace
}  // namespace tessera

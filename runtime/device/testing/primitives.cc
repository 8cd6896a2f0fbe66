// Which primitives the accelerator for tests has. Op classes that are made of these run on it.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/device/testing/accelerator_memory.h"
#include "runtime/device/testing/deferred_primitive.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/kernels/primitives/advance_generator.h"
#include "runtime/kernels/primitives/complex_value.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/primitives/multinomial.h"
#include "runtime/kernels/primitives/one_hot.h"
#include "runtime/kernels/primitives/optimizer_update.h"
#include "runtime/kernels/primitives/random_fill.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/kernels/primitives/reshape_indices.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/segment_lookup.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {

// The scalars of a step are read when the stream's thread comes to it.
template <>
class DeferredArgument<const OptimizerStep&> {
 public:
  static absl::Status Check(const OptimizerStep& step) {
    absl::Status checked;
    for (const Tensor* scalar : step.on_device) {
      checked.Update(DeferredArgument<const Tensor*>::Check(scalar));
    }
    return checked;
  }
  DeferredArgument(const LateStream& stream, const OptimizerStep& step) : step_(step) {
    for (const Tensor* scalar : step.on_device) scalars_.emplace_back(stream, scalar);
    step_.on_device = {};
  }
  const OptimizerStep& Get() {
    for (size_t i = 0; i < scalars_.size(); ++i) {
      const Tensor* const scalar = scalars_[i].Get();
      if (scalar != nullptr) step_.scalars[i] = ComplexValueOf(*scalar).value();
    }
    return step_;
  }

 private:
  OptimizerStep step_;
  std::vector<DeferredArgument<const Tensor*>> scalars_;
};

template <>
class DeferredArgument<const PhiloxSource&> {
 public:
  static absl::Status Check(const PhiloxSource& source) {
    if (!source.is_on_device()) return absl::OkStatus();
    absl::Status checked = DeferredArgument<const Tensor&>::Check(source.key());
    checked.Update(DeferredArgument<const Tensor&>::Check(source.counter()));
    return checked;
  }
  DeferredArgument(const LateStream& stream, const PhiloxSource& source)
      : source_(source.is_on_device() ? PhiloxSource(AliasView(stream, source.key()),
                                                     AliasView(stream, source.counter()))
                                      : source) {}
  const PhiloxSource& Get() { return source_; }

 private:
  const PhiloxSource source_;
};

namespace {

#define REGISTER_DEFERRED(P) REGISTER_PRIMITIVE(P, kTestAccelerator, DeferredPrimitive<P>::Run)

// AddN, which is given addresses in place of tensors.
absl::Status RunAddN(KernelContext& ctx, DType dtype, int64_t count,
                     absl::Span<const char* const> addends, char* sum) {
  if (count == 0) return absl::OkStatus();
  std::vector<const char*> from;
  for (const char* addend : addends) from.push_back(AcceleratorMemory::Find(addend).alias);
  char* const to = AcceleratorMemory::Find(sum).alias;
  if (to == nullptr || std::find(from.begin(), from.end(), nullptr) != from.end()) {
    return absl::InternalError("AddN is given memory that is not the accelerator's");
  }
  StreamOf(ctx).Enqueue([dtype, count, from = std::move(from), to] {
    StepContext step;
    KernelContext host(step, /*device=*/nullptr);
    return PrimitiveImplementations<AddN>::Find(kCpu)(host, dtype, count, from, to);
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(AddN, kTestAccelerator, RunAddN);

REGISTER_DEFERRED(AdvanceGenerator);
REGISTER_DEFERRED(Fill);
REGISTER_DEFERRED(Gather);
REGISTER_DEFERRED(KeyOfSeeds);
REGISTER_DEFERRED(Multinomial);
REGISTER_DEFERRED(OneHot);
REGISTER_DEFERRED(OptimizerUpdate);
REGISTER_DEFERRED(RandomFill);
REGISTER_DEFERRED(RavelMultiIndex);
REGISTER_DEFERRED(ReshapeIndices);
REGISTER_DEFERRED(Scatter);
REGISTER_DEFERRED(SegmentLookup);
REGISTER_DEFERRED(SegmentLookupGradient);
REGISTER_DEFERRED(StridedCopy);

}  // namespace
}  // namespace tessera

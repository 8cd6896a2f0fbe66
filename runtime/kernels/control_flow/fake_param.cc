// FakeParam: stands for an argument that a branch never reads, such as a value that only the
// gradient of the other branch needs.
#include <algorithm>
#include <cstring>

#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Gives zeros, or empty elements, of the shape that the attribute declares. A dimension that it
// leaves open is 0, a shape without a rank is a scalar.
class FakeParamKernel final : public OpKernel {
 public:
  explicit FakeParamKernel(const KernelBuild& build)
      : declared_(build.attr<PartialShape>("shape")) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    absl::InlinedVector<int64_t, 8> sizes;
    for (int d = 0; d < declared_.rank(); ++d) {
      sizes.push_back(std::max<int64_t>(0, declared_.dim(d)));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
    ASSIGN_OR_RETURN(Tensor* const value, ctx.AllocateOutput(0, shape));
    if (IsTriviallyCopyable(value->dtype())) {
      std::memset(value->mutable_raw(), 0, value->num_elements() * DTypeSize(value->dtype()));
    }
    return absl::OkStatus();
  }

 private:
  const PartialShape declared_;
};
REGISTER_KERNEL("FakeParam", kCpu, FakeParamKernel);

}  // namespace
}  // namespace tessera

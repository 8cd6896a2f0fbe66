// Grey-scale dilation by a structuring function: Dilation2D and its gradients.
#include "runtime/kernels/primitives/dilation.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

class DilationBase : public OpKernel {
 public:
  explicit DilationBase(const KernelBuild& build)
      : strides_(ReadWindowList(build, "strides", 2, absl::StatusCode::kInvalidArgument)),
        rates_(ReadWindowList(build, "rates", 2, absl::StatusCode::kInvalidArgument)),
        padding_(build.attr<std::string>("padding") == "SAME" ? Padding::kSame : Padding::kValid) {}

 protected:
  struct Geometry {
    DilationAxis rows, columns;
    Shape output;
  };
  // Errors: INVALID_ARGUMENT unless the shapes are [batch, height, width, channels] and
  // [height, width, channels], and the filter fits. It may be empty.
  absl::StatusOr<Geometry> Check(const Tensor& x, const Tensor& filter) const {
    if (x.rank() != 4 || filter.rank() != 3 || x.dim(3) != filter.dim(2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs must be [batch, height, width, channels] and filter [height, width, channels], ",
          "have shapes ", x.shape().ToString(), " and ", filter.shape().ToString()));
    }
    Geometry g;
    const WindowExtent rows =
        SlideWindow(padding_, x.dim(1), (filter.dim(0) - 1) * rates_[1] + 1, strides_[1]);
    const WindowExtent columns =
        SlideWindow(padding_, x.dim(2), (filter.dim(1) - 1) * rates_[2] + 1, strides_[2]);
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    if (rows.output < 0 || columns.output < 0 ||
        std::max(filter.dim(0), filter.dim(1)) > kLargest) {
      return absl::InvalidArgumentError(
          absl::StrCat("a filter of shape ", filter.shape().ToString(),
                       " does not fit into images of shape ", x.shape().ToString()));
    }
    g.rows = {.stride = strides_[1], .rate = rates_[1], .pad_before = rows.pad_before};
    g.columns = {.stride = strides_[2], .rate = rates_[2], .pad_before = columns.pad_before};
    ASSIGN_OR_RETURN(g.output, Shape::Make({x.dim(0), rows.output, columns.output, x.dim(3)}));
    return g;
  }

 private:
  const std::vector<int64_t> strides_, rates_;
  const Padding padding_;
};

class DilationKernel : public DilationBase {
 public:
  explicit DilationKernel(const KernelBuild& build) : DilationBase(build), dilation_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(const Geometry g, Check(x, filter));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, g.output));
    return dilation_(ctx, g.rows, g.columns, x, filter, y);
  }

 private:
  const Primitive<Dilation> dilation_;
};
REGISTER_KERNEL("Dilation2D", DevicesOf<Dilation>, DilationKernel);

template <DilationOperand kOperand>
class DilationGradKernel : public DilationBase {
 public:
  explicit DilationGradKernel(const KernelBuild& build) : DilationBase(build), gradient_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    const Tensor& gradients = ctx.input(2);
    ASSIGN_OR_RETURN(const Geometry g, Check(x, filter));
    if (!(gradients.shape() == g.output)) {
      return absl::InvalidArgumentError(absl::StrCat("gradients must have shape ",
                                                     g.output.ToString(), ", have ",
                                                     gradients.shape().ToString()));
    }
    const Tensor& operand = kOperand == DilationOperand::kFilter ? filter : x;
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, operand.shape()));
    // There are gradients even so if the filter is empty: its windows have no elements.
    if (out->num_elements() == 0) return absl::OkStatus();
    return gradient_(ctx, kOperand, g.rows, g.columns, x, filter, gradients, out);
  }

 private:
  const Primitive<DilationGradient> gradient_;
};
REGISTER_KERNEL("Dilation2DBackpropInput", DevicesOf<DilationGradient>,
                DilationGradKernel<DilationOperand::kInput>);
REGISTER_KERNEL("Dilation2DBackpropFilter", DevicesOf<DilationGradient>,
                DilationGradKernel<DilationOperand::kFilter>);

}  // namespace
}  // namespace tessera

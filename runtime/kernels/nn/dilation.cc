// Grey-scale dilation by a structuring function: Dilation2D and its gradients.
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// y[b, i, j, c] is the maximum over the window of x[b, ., ., c] + filter[., ., c].
class DilationBase : public OpKernel {
 public:
  explicit DilationBase(const KernelBuild& build)
      : strides_(ReadWindowList(build, "strides")),
        rates_(ReadWindowList(build, "rates")),
        padding_(build.attr<std::string>("padding") == "SAME" ? Padding::kSame : Padding::kValid) {}

 protected:
  struct Geometry {
    WindowExtent rows, columns;
    Shape output;
  };
  // Errors: INVALID_ARGUMENT unless the shapes are [batch, height, width, channels] and
  // [height, width, channels], and the filter fits.
  absl::StatusOr<Geometry> Check(const Tensor& x, const Tensor& filter) const {
    if (x.rank() != 4 || filter.rank() != 3 || x.dim(3) != filter.dim(2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs must be [batch, height, width, channels] and filter [height, width, channels], ",
          "have shapes ", x.shape().ToString(), " and ", filter.shape().ToString()));
    }
    Geometry g;
    g.rows = SlideWindow(padding_, x.dim(1), (filter.dim(0) - 1) * rates_[1] + 1, strides_[1]);
    g.columns = SlideWindow(padding_, x.dim(2), (filter.dim(1) - 1) * rates_[2] + 1, strides_[2]);
    if (g.rows.output <= 0 || g.columns.output <= 0 || filter.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a filter of shape ", filter.shape().ToString(),
                       " does not fit into images of shape ", x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(g.output, Shape::Make({x.dim(0), g.rows.output, g.columns.output, x.dim(3)}));
    return g;
  }

  // Which elements of input and filter make the maximum of an output.
  template <typename T>
  struct Maximum {
    T value;
    int64_t x, filter;
  };
  template <typename T>
  Maximum<T> FindMaximum(const Geometry& g, const Tensor& x, const Tensor& filter,
                         int64_t output) const {
    const int64_t channels = x.dim(3), c = output % channels;
    const int64_t point = output / channels;
    const int64_t left = point % g.columns.output * strides_[2] - g.columns.pad_before;
    const int64_t row = point / g.columns.output;
    const int64_t top = row % g.rows.output * strides_[1] - g.rows.pad_before;
    const int64_t image = row / g.rows.output;
    Maximum<T> best{std::numeric_limits<T>::lowest(), -1, -1};
    for (int64_t h = 0; h < filter.dim(0); ++h) {
      const int64_t y_at = top + h * rates_[1];
      if (y_at < 0 || y_at >= x.dim(1)) continue;
      for (int64_t w = 0; w < filter.dim(1); ++w) {
        const int64_t x_at = left + w * rates_[2];
        if (x_at < 0 || x_at >= x.dim(2)) continue;
        const int64_t in = ((image * x.dim(1) + y_at) * x.dim(2) + x_at) * channels + c;
        const int64_t of_filter = (h * filter.dim(1) + w) * channels + c;
        const T value = static_cast<T>(x.data<T>()[in] + filter.data<T>()[of_filter]);
        if (best.x < 0 || value > best.value) best = {value, in, of_filter};
      }
    }
    return best;
  }

  const std::vector<int64_t> strides_, rates_;
  const Padding padding_;
};

class DilationKernel : public DilationBase {
 public:
  using DilationBase::DilationBase;

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(const Geometry g, Check(x, filter));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, g.output));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      const double cost = 3.0 * static_cast<double>(filter.dim(0) * filter.dim(1));
      ctx.ParallelFor(y->num_elements(), cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          y->data<T>()[i] = FindMaximum<T>(g, x, filter, i).value;
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("Dilation2D", kCpu, DilationKernel);

// Each gradient goes to the element, of the input or the filter, that made the maximum.
template <bool kOfFilter>
class DilationGradKernel : public DilationBase {
 public:
  using DilationBase::DilationBase;

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
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, (kOfFilter ? filter : x).shape()));
    ZeroElements(out->dtype(), out->mutable_raw(), out->num_elements());
    return VisitRealType(x.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < gradients.num_elements(); ++i) {
        const Maximum<T> best = FindMaximum<T>(g, x, filter, i);
        if (best.x < 0) continue;
        out->data<T>()[kOfFilter ? best.filter : best.x] += gradients.data<T>()[i];
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("Dilation2DBackpropInput", kCpu, DilationGradKernel<false>);
REGISTER_KERNEL("Dilation2DBackpropFilter", kCpu, DilationGradKernel<true>);

}  // namespace
}  // namespace tessera

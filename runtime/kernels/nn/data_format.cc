// Dimensions of images in another order: DataFormatDimMap, DataFormatVecPermute.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/index_type.h"

namespace tessera {
namespace {

// The formats of a node: the same letters in two orders.
struct Formats {
  explicit Formats(const KernelBuild& build)
      : from(build.attr<std::string>("src_format")), to(build.attr<std::string>("dst_format")) {
    std::string a = from, b = to;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a != b || (a.size() != 4 && a.size() != 5)) {
      build.Fail(
          absl::InvalidArgumentError(absl::StrCat("src_format '", from, "' and dst_format '", to,
                                                  "' must be 4 or 5 letters in different orders")));
    }
  }
  std::string from, to;
};

// The number that a dimension has in the other format. Negative ones count from the end.
class DataFormatDimMapKernel : public OpKernel {
 public:
  explicit DataFormatDimMapKernel(const KernelBuild& build) : formats_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    return VisitIndexType(x.dtype(), [&]<typename T>() -> absl::Status {
      const T rank = static_cast<T>(formats_.from.size());
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const T dim = x.data<T>()[i];
        if (dim < -rank) {
          return absl::InvalidArgumentError(absl::StrCat("dimension ", dim, " is below ", -rank));
        }
        // As in TensorFlow, numbers above the last dimension begin with the first one again.
        const char letter = formats_.from[dim < 0 ? dim + rank : dim % rank];
        y->data<T>()[i] = static_cast<T>(formats_.to.find(letter));
      }
      return absl::OkStatus();
    });
  }

 private:
  const Formats formats_;
};
// Axes, and sizes for each of them, are the host's on every device.
REGISTER_KERNEL("DataFormatDimMap", kAnyDevice, DataFormatDimMapKernel)
    .HostMemory("x")
    .HostMemory("y");

// One value or pair of values for each dimension, or for each but batch and channels.
class DataFormatVecPermuteKernel : public OpKernel {
 public:
  explicit DataFormatVecPermuteKernel(const KernelBuild& build) : formats_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    std::string from = formats_.from, to = formats_.to;
    const int64_t rank = static_cast<int64_t>(from.size());
    if (x.rank() >= 1 && x.dim(0) == rank - 2) {
      for (std::string* format : {&from, &to}) {
        std::erase_if(*format, [](char letter) { return letter == 'N' || letter == 'C'; });
      }
    }
    if ((x.rank() != 1 && !(x.rank() == 2 && x.dim(1) == 2)) ||
        x.dim(0) != static_cast<int64_t>(from.size()) || from.size() != to.size()) {
      return absl::InvalidArgumentError(absl::StrCat("x must have shape [", rank, "], [", rank - 2,
                                                     "], or one of these with a "
                                                     "second dimension of 2; it has ",
                                                     x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    const int64_t width = x.rank() == 2 ? 2 : 1;
    const size_t bytes = width * DTypeSize(x.dtype());
    for (size_t i = 0; i < to.size(); ++i) {
      CopyElements(x.dtype(), x.raw() + from.find(to[i]) * bytes, y->mutable_raw() + i * bytes,
                   width);
    }
    return absl::OkStatus();
  }

 private:
  const Formats formats_;
};
REGISTER_KERNEL("DataFormatVecPermute", kAnyDevice, DataFormatVecPermuteKernel)
    .HostMemory("x")
    .HostMemory("y");

}  // namespace
}  // namespace tessera

// Summaries for TensorBoard, as serialized protos.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

// One number for each tag.
class ScalarSummaryKernel : public OpKernel {
 public:
  explicit ScalarSummaryKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tags = ctx.input(0);
    const Tensor& values = ctx.input(1);
    if (!(tags.shape() == values.shape()) &&
        (tags.num_elements() != 1 || values.num_elements() != 1)) {
      return absl::InvalidArgumentError(absl::StrCat("tags and values must have one shape, have ",
                                                     tags.shape().ToString(), " and ",
                                                     values.shape().ToString()));
    }
    tensorflow::Summary summary;
    RETURN_IF_ERROR(VisitRealType(values.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < tags.num_elements(); ++i) {
        auto* value = summary.add_value();
        value->set_tag(tags.flat<std::string>()[i]);
        value->set_simple_value(static_cast<float>(values.data<T>()[i]));
      }
      return absl::OkStatus();
    }));
    ctx.set_output(0, Tensor::Scalar(summary.SerializeAsString()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ScalarSummary", kCpu, ScalarSummaryKernel);

}  // namespace
}  // namespace tessera

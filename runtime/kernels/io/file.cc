// Files as strings.
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

class ReadFileKernel : public OpKernel {
 public:
  explicit ReadFileKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& name = ctx.input(0);
    if (name.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("filename must be a scalar, has shape ", name.shape().ToString()));
    }
    ASSIGN_OR_RETURN(std::string contents, ReadFile(name.scalar<std::string>()));
    ctx.set_output(0, Tensor::Scalar(std::move(contents)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ReadFile", kCpu, ReadFileKernel);

}  // namespace
}  // namespace tessera

// DecodeJSONExample: tf.train.Example from JSON to its wire format.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "tensorflow/core/example/example.pb.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT for what is not the JSON form of an Example.
class DecodeJsonExampleKernel : public OpKernel {
 public:
  explicit DecodeJsonExampleKernel(const KernelBuild&)
      : types_(google::protobuf::util::NewTypeResolverForDescriptorPool(
            kTypePrefix, tensorflow::Example::descriptor()->file()->pool())) {}
  absl::Status Compute(KernelContext& ctx) override {
    const auto json = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < json.size(); ++i) {
      // This way lists are not packed, which gives TensorFlow's bytes.
      const auto status = google::protobuf::util::JsonToBinaryString(
          types_.get(),
          absl::StrCat(kTypePrefix, "/", tensorflow::Example::descriptor()->full_name()), json[i],
          &output->flat<std::string>()[i]);
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("Error while parsing JSON: json_examples[",
                                                       i, "]: ", std::string(status.message())));
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr char kTypePrefix[] = "type.googleapis.com";

  const std::unique_ptr<google::protobuf::util::TypeResolver> types_;
};
REGISTER_KERNEL("DecodeJSONExample", kCpu, DecodeJsonExampleKernel);

}  // namespace
}  // namespace tessera

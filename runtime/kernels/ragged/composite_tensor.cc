// Composite tensors, such as sparse and ragged ones, in a single variant:
// CompositeTensorVariantFromComponents, CompositeTensorVariantToComponents.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/tensor/encoded_variant.h"
#include "tensorflow/core/protobuf/composite_tensor_variant.pb.h"

namespace tessera {
namespace {

using Metadata = tensorflow::CompositeTensorVariantMetadata;

constexpr absl::string_view kTypeName = "CompositeTensorVariant";

// The attribute `metadata`; makes creation fail unless it is a message.
Metadata ReadMetadata(const KernelBuild& build) {
  Metadata metadata;
  if (!metadata.ParseFromString(build.attr<std::string>("metadata"))) {
    build.Fail(absl::InvalidArgumentError("metadata is no CompositeTensorVariantMetadata"));
  }
  return metadata;
}

// What the proto calls the class of a composite tensor.
std::string ClassName(const tensorflow::TypeSpecProto& spec) {
  if (!spec.type_spec_class_name().empty()) return spec.type_spec_class_name();
  return tensorflow::TypeSpecProto::TypeSpecClass_Name(spec.type_spec_class());
}

class FromComponentsKernel final : public OpKernel {
 public:
  explicit FromComponentsKernel(const KernelBuild& build)
      : metadata_(ReadMetadata(build).SerializeAsString()) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    std::vector<Tensor> components;
    for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.input(i));
    ASSIGN_OR_RETURN(Tensor* const encoded, ctx.AllocateOutput(0, Shape()));
    encoded->scalar<Variant>() = Variant(
        std::make_shared<EncodedVariant>(std::string(kTypeName), metadata_, std::move(components)));
    return absl::OkStatus();
  }

 private:
  const std::string metadata_;
};
REGISTER_KERNEL("CompositeTensorVariantFromComponents", kCpu, FromComponentsKernel);

// Errors: INVALID_ARGUMENT unless input 0 is a composite tensor of the class that the attribute
// `metadata` names, with components of the dtypes of the outputs.
class ToComponentsKernel final : public OpKernel {
 public:
  explicit ToComponentsKernel(const KernelBuild& build) : metadata_(ReadMetadata(build)) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("encoded must be a scalar, has shape ", input.shape().ToString()));
    }
    const auto* const encoded = input.data<Variant>()->get<EncodedVariant>();
    if (encoded == nullptr || encoded->TypeName() != kTypeName) {
      return absl::InvalidArgumentError("The input `encoded` is no composite tensor");
    }
    Metadata given;
    if (!given.ParseFromString(encoded->metadata())) {
      return absl::InvalidArgumentError("the metadata of `encoded` cannot be parsed");
    }
    const std::string expected = ClassName(metadata_.type_spec_proto());
    if (const std::string found = ClassName(given.type_spec_proto()); found != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected a ", expected, " (based on `type_spec`), but `encoded` contains a ", found));
    }
    const std::vector<Tensor>& components = encoded->tensors();
    if (static_cast<int>(components.size()) != ctx.num_outputs()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Encoded value has ", components.size(), " tensor components; expected ",
                       ctx.num_outputs(), " components based on type_spec"));
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      if (components[i].dtype() != ctx.output_type(i)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Tensor component ", i, " had dtype ", DTypeName(components[i].dtype()),
                         "; expected dtype ", DTypeName(ctx.output_type(i))));
      }
      ctx.set_output(i, components[i]);
    }
    return absl::OkStatus();
  }

 private:
  const Metadata metadata_;
};
REGISTER_KERNEL("CompositeTensorVariantToComponents", kCpu, ToComponentsKernel);

}  // namespace
}  // namespace tessera

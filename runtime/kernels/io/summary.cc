// Summaries for TensorBoard, as serialized protos.
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/summary_value.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

using tensorflow::Summary;

absl::StatusOr<std::string> Tag(const KernelContext& ctx) {
  const Tensor& tag = ctx.input(0);
  if (tag.shape().IsScalar()) return tag.scalar<std::string>();
  return absl::InvalidArgumentError(
      absl::StrCat("Tags must be a scalar, has shape ", tag.shape().ToString()));
}

void SetSummary(const Summary& summary, KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar<std::string>(summary.SerializeAsString()));
}

absl::Status SetTensor(const Tensor& tensor, Summary::Value* value) {
  return TensorToProto(tensor, TensorProtoForm::kTensorContent, value->mutable_tensor());
}

// One number for each tag.
class ScalarSummaryKernel : public OpKernel {
 public:
  explicit ScalarSummaryKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tags = ctx.input(0);
    const Tensor& values = ctx.input(1);
    if (!(tags.shape() == values.shape())) {
      return absl::InvalidArgumentError(absl::StrCat("tags and values must have one shape, have ",
                                                     tags.shape().ToString(), " and ",
                                                     values.shape().ToString()));
    }
    Summary summary;
    RETURN_IF_ERROR(VisitRealType(values.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < tags.num_elements(); ++i) {
        auto* value = summary.add_value();
        value->set_tag(tags.flat<std::string>()[i]);
        value->set_simple_value(static_cast<float>(values.data<T>()[i]));
      }
      return absl::OkStatus();
    }));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ScalarSummary", kCpu, ScalarSummaryKernel);

class HistogramSummaryKernel : public OpKernel {
 public:
  explicit HistogramSummaryKernel(const KernelBuild& build) : name_(build.node_name()) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, Tag(ctx));
    Summary summary;
    RETURN_IF_ERROR(AddHistogramValue(tag, name_, ctx.input(1), &summary));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("HistogramSummary", kCpu, HistogramSummaryKernel);

class ImageSummaryKernel : public OpKernel {
 public:
  explicit ImageSummaryKernel(const KernelBuild& build)
      : max_images_(build.attr<int64_t>("max_images")),
        bad_color_(build.attr<Tensor>("bad_color")) {
    if (build.status().ok() && (bad_color_.dtype() != DType::kUint8 || bad_color_.rank() != 1)) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("bad_color must be a vector of uint8, is ",
                                                         DTypeName(bad_color_.dtype()),
                                                         bad_color_.shape().ToString())));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, Tag(ctx));
    Summary summary;
    RETURN_IF_ERROR(
        AddImageValues(tag, ctx.input(1), max_images_, bad_color_.flat<uint8_t>(), &summary));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }

 private:
  const int64_t max_images_;
  const Tensor bad_color_;
};
REGISTER_KERNEL("ImageSummary", kCpu, ImageSummaryKernel);

// The rate of samples is an attribute (AudioSummary) or an input (AudioSummaryV2).
class AudioSummaryKernel : public OpKernel {
 public:
  explicit AudioSummaryKernel(const KernelBuild& build)
      : rate_is_input_(build.num_inputs() > 2),
        rate_(rate_is_input_ ? 0 : build.attr<float>("sample_rate")),
        max_outputs_(build.attr<int64_t>("max_outputs")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, Tag(ctx));
    float rate = rate_;
    if (rate_is_input_) {
      if (!ctx.input(2).shape().IsScalar()) {
        return absl::InvalidArgumentError(absl::StrCat("sample_rate must be a scalar, has shape ",
                                                       ctx.input(2).shape().ToString()));
      }
      rate = ctx.input(2).scalar<float>();
    }
    Summary summary;
    RETURN_IF_ERROR(AddAudioValues(tag, ctx.input(1), rate, max_outputs_, &summary));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }

 private:
  const bool rate_is_input_;
  const float rate_;
  const int64_t max_outputs_;
};
REGISTER_KERNEL("AudioSummary", kCpu, AudioSummaryKernel);
REGISTER_KERNEL("AudioSummaryV2", kCpu, AudioSummaryKernel);

// The value has the node's name and no tag: the name that it had in a function which was inlined.
class TensorSummaryKernel : public OpKernel {
 public:
  explicit TensorSummaryKernel(const KernelBuild& build)
      : name_(build.has_attr("_node_name") ? build.attr<std::string>("_node_name")
                                           : build.node_name()) {}
  absl::Status Compute(KernelContext& ctx) override {
    Summary summary;
    Summary::Value* const value = summary.add_value();
    value->set_node_name(name_);
    RETURN_IF_ERROR(SetTensor(ctx.input(0), value));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("TensorSummary", kCpu, TensorSummaryKernel);

class TaggedTensorSummaryKernel : public OpKernel {
 public:
  explicit TaggedTensorSummaryKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string tag, Tag(ctx));
    const Tensor& metadata = ctx.input(2);
    if (!metadata.shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "serialized_summary_metadata must be a scalar, has shape ", metadata.shape().ToString()));
    }
    Summary summary;
    Summary::Value* const value = summary.add_value();
    value->set_tag(tag);
    if (!value->mutable_metadata()->ParseFromString(metadata.scalar<std::string>())) {
      return absl::InvalidArgumentError("serialized_summary_metadata is no SummaryMetadata");
    }
    RETURN_IF_ERROR(SetTensor(ctx.input(1), value));
    SetSummary(summary, ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorSummaryV2", kCpu, TaggedTensorSummaryKernel);

// Joins summaries whose tags all differ.
class MergeSummaryKernel : public OpKernel {
 public:
  explicit MergeSummaryKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    Summary merged;
    absl::flat_hash_set<std::string> tags;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      for (const std::string& bytes : ctx.input(i).flat<std::string>()) {
        Summary summary;
        if (!summary.ParseFromString(bytes)) {
          return absl::InvalidArgumentError("Could not parse one of the summary inputs");
        }
        for (Summary::Value& value : *summary.mutable_value()) {
          if (!value.tag().empty() && !tags.insert(value.tag()).second) {
            return absl::InvalidArgumentError(
                absl::StrCat("Duplicate tag ", value.tag(), " found in summary inputs"));
          }
          *merged.add_value() = std::move(value);
        }
      }
    }
    SetSummary(merged, ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("MergeSummary", kCpu, MergeSummaryKernel);

}  // namespace
}  // namespace tessera

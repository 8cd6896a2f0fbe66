// Ops that write event files for TensorBoard.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/summary_value.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/summary/event_file_writer.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace tessera {
namespace {

using tensorflow::Event;

class SummaryWriter final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "summary_writer";

  explicit SummaryWriter(std::unique_ptr<EventFileWriter> file) : file_(std::move(file)) {}
  EventFileWriter& file() { return *file_; }
  std::string DebugString() const override { return absl::StrCat("writer of ", file_->path()); }

 private:
  const std::unique_ptr<EventFileWriter> file_;
};

// Gives a handle. CreateSummaryFileWriter makes what it names.
class SummaryWriterKernel : public OpKernel {
 public:
  explicit SummaryWriterKernel(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name")),
        node_name_(build.node_name()) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ResourceHandle handle;
    handle.container = container_;
    handle.name = name_.empty() ? node_name_ : name_;
    handle.type_name = std::string(SummaryWriter::kTypeName);
    return SetScalarOutput(ctx, 0, std::move(handle));
  }

 private:
  const std::string container_, name_, node_name_;
};
REGISTER_KERNEL("SummaryWriter", kCpu, SummaryWriterKernel);

absl::Status NotScalar(const KernelContext& ctx, int i, absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be a scalar, has shape ", ctx.input(i).shape().ToString()));
}

// The value of an input with one element, which may have dimensions: TensorFlow's kernels check the
// arguments of a file and the step of serialised summaries alone.
template <typename T>
absl::StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() == DTypeOf<T> && input.num_elements() == 1) return input.scalar<T>();
  return NotScalar(ctx, i, name);
}

absl::Status CheckScalar(const KernelContext& ctx, int i, absl::string_view name) {
  return ctx.input(i).shape().IsScalar() ? absl::OkStatus() : NotScalar(ctx, i, name);
}

absl::StatusOr<ResourceHandle> Handle(const KernelContext& ctx) {
  return ScalarInput<ResourceHandle>(ctx, 0, "writer");
}

class CreateSummaryFileWriterKernel : public OpKernel {
 public:
  explicit CreateSummaryFileWriterKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle handle, Handle(ctx));
    int i = 1;
    for (const char* name : {"logdir", "max_queue", "flush_millis", "filename_suffix"}) {
      RETURN_IF_ERROR(CheckScalar(ctx, i++, name));
    }
    ASSIGN_OR_RETURN(const std::string directory, ScalarInput<std::string>(ctx, 1, "logdir"));
    ASSIGN_OR_RETURN(const int32_t max_queue, ScalarInput<int32_t>(ctx, 2, "max_queue"));
    ASSIGN_OR_RETURN(const int32_t flush_millis, ScalarInput<int32_t>(ctx, 3, "flush_millis"));
    ASSIGN_OR_RETURN(const std::string suffix, ScalarInput<std::string>(ctx, 4, "filename_suffix"));
    const auto make = [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
      ASSIGN_OR_RETURN(
          std::unique_ptr<EventFileWriter> file,
          EventFileWriter::Create(directory, {.max_queue = max_queue,
                                              .flush_interval = absl::Milliseconds(flush_millis),
                                              .suffix = suffix}));
      return IntrusivePtr<Resource>(MakeRefCounted<SummaryWriter>(std::move(file)));
    };
    return ctx.resources()
        .LookupOrCreate(handle.container, handle.type_name, handle.name, make)
        .status();
  }
};
REGISTER_KERNEL("CreateSummaryFileWriter", kCpu, CreateSummaryFileWriterKernel);

class FlushSummaryWriterKernel : public OpKernel {
 public:
  explicit FlushSummaryWriterKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto writer, ResourceInput<SummaryWriter>(ctx, 0));
    return writer->file().Flush();
  }
};
REGISTER_KERNEL("FlushSummaryWriter", kCpu, FlushSummaryWriterKernel);

class CloseSummaryWriterKernel : public OpKernel {
 public:
  explicit CloseSummaryWriterKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle handle, Handle(ctx));
    ASSIGN_OR_RETURN(const auto writer, ResourceInput<SummaryWriter>(ctx, 0));
    RETURN_IF_ERROR(writer->file().Flush());
    return ctx.resources().Delete(handle.container, handle.type_name, handle.name);
  }
};
REGISTER_KERNEL("CloseSummaryWriter", kCpu, CloseSummaryWriterKernel);

// Base of the ops that write an event of a step. Their inputs are the writer, the step, and more.
class WriteEventKernel : public OpKernel {
 public:
  explicit WriteEventKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) final {
    ASSIGN_OR_RETURN(const auto writer, ResourceInput<SummaryWriter>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 1, "step"));
    Event event;
    event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    event.set_step(step);
    RETURN_IF_ERROR(Fill(ctx, &event));
    return writer->file().Write(event);
  }

 protected:
  virtual absl::Status Fill(const KernelContext& ctx, Event* event) const = 0;
};

class WriteSummaryKernel : public WriteEventKernel {
 public:
  using WriteEventKernel::WriteEventKernel;

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarInput<std::string>(ctx, 3, "tag"));
    ASSIGN_OR_RETURN(const std::string metadata,
                     ScalarInput<std::string>(ctx, 4, "summary_metadata"));
    auto* const value = event->mutable_summary()->add_value();
    value->set_tag(tag);
    if (!value->mutable_metadata()->ParseFromString(metadata)) {
      return absl::InvalidArgumentError("summary_metadata is no SummaryMetadata");
    }
    return TensorToProto(ctx.input(2), TensorProtoForm::kTensorContent, value->mutable_tensor());
  }
};
REGISTER_KERNEL("WriteSummary", kCpu, WriteSummaryKernel);

class WriteScalarSummaryKernel : public WriteEventKernel {
 public:
  using WriteEventKernel::WriteEventKernel;

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarInput<std::string>(ctx, 2, "tag"));
    return AddScalarValue(tag, ctx.input(3), event->mutable_summary());
  }
};
REGISTER_KERNEL("WriteScalarSummary", kCpu, WriteScalarSummaryKernel);

class WriteHistogramSummaryKernel : public WriteEventKernel {
 public:
  using WriteEventKernel::WriteEventKernel;

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarInput<std::string>(ctx, 2, "tag"));
    return AddHistogramValue(tag, tag, ctx.input(3), event->mutable_summary());
  }
};
REGISTER_KERNEL("WriteHistogramSummary", kCpu, WriteHistogramSummaryKernel);

class WriteImageSummaryKernel : public WriteEventKernel {
 public:
  explicit WriteImageSummaryKernel(const KernelBuild& build)
      : WriteEventKernel(build), max_images_(build.attr<int64_t>("max_images")) {}

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarInput<std::string>(ctx, 2, "tag"));
    if (!ctx.input(4).shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("bad_color must be a vector, has shape ", ctx.input(4).shape().ToString()));
    }
    return AddImageValues(tag, ctx.input(3), max_images_, ctx.input(4).flat<uint8_t>(),
                          event->mutable_summary());
  }

 private:
  const int64_t max_images_;
};
REGISTER_KERNEL("WriteImageSummary", kCpu, WriteImageSummaryKernel);

class WriteAudioSummaryKernel : public WriteEventKernel {
 public:
  explicit WriteAudioSummaryKernel(const KernelBuild& build)
      : WriteEventKernel(build), max_outputs_(build.attr<int64_t>("max_outputs")) {}

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarInput<std::string>(ctx, 2, "tag"));
    ASSIGN_OR_RETURN(const float rate, ScalarInput<float>(ctx, 4, "sample_rate"));
    return AddAudioValues(tag, ctx.input(3), rate, max_outputs_, event->mutable_summary());
  }

 private:
  const int64_t max_outputs_;
};
REGISTER_KERNEL("WriteAudioSummary", kCpu, WriteAudioSummaryKernel);

class WriteGraphSummaryKernel : public WriteEventKernel {
 public:
  using WriteEventKernel::WriteEventKernel;

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    ASSIGN_OR_RETURN(*event->mutable_graph_def(), ScalarInput<std::string>(ctx, 2, "tensor"));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("WriteGraphSummary", kCpu, WriteGraphSummaryKernel);

class WriteRawProtoSummaryKernel : public WriteEventKernel {
 public:
  using WriteEventKernel::WriteEventKernel;

 protected:
  absl::Status Fill(const KernelContext& ctx, Event* event) const override {
    RETURN_IF_ERROR(CheckScalar(ctx, 1, "step"));
    for (const std::string& bytes : ctx.input(2).flat<std::string>()) {
      if (!event->mutable_summary()->MergeFromString(bytes)) {
        return absl::InvalidArgumentError("an element of 'tensor' is no Summary");
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("WriteRawProtoSummary", kCpu, WriteRawProtoSummaryKernel);

class ImportEventKernel : public OpKernel {
 public:
  explicit ImportEventKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto writer, ResourceInput<SummaryWriter>(ctx, 0));
    ASSIGN_OR_RETURN(const std::string bytes, ScalarInput<std::string>(ctx, 1, "event"));
    Event event;
    if (!event.ParseFromString(bytes)) {
      return absl::InvalidArgumentError("'event' is no Event");
    }
    return writer->file().WriteSerialized(bytes);
  }
};
REGISTER_KERNEL("ImportEvent", kCpu, ImportEventKernel);

}  // namespace
}  // namespace tessera

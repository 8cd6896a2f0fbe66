// Files as strings, and their names.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/matching_files.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/vector_output.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera {
namespace {

class ReadFileKernel : public OpKernel {
 public:
  explicit ReadFileKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& name = ctx.input(0);
    if (!name.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("filename must be a scalar, has shape ", name.shape().ToString()));
    }
    ASSIGN_OR_RETURN(std::string contents, ReadFile(name.scalar<std::string>()));
    return SetScalarOutput(ctx, 0, std::move(contents));
  }
};
REGISTER_KERNEL("ReadFile", kCpu, ReadFileKernel);

// The bytes of a file as a tensor of the attributes' dtype and shape. A bool is true for any byte
// but 0. Errors: INVALID_ARGUMENT for strings and other objects, and for a file that is too short;
// those of reading the file.
class ImmutableConstKernel : public OpKernel {
 public:
  explicit ImmutableConstKernel(const KernelBuild& build)
      : file_(build.attr<std::string>("memory_region_name")) {
    const auto shape = build.attr<PartialShape>("shape");
    const absl::StatusOr<Shape> known = Shape::Make(shape.dims());
    if (!IsTriviallyCopyable(build.output_types()[0])) {
      build.Fail(absl::InvalidArgumentError("elements of a mapped constant must be plain numbers"));
    } else if (!shape.known_rank() || !known.ok()) {
      build.Fail(absl::InvalidArgumentError("the shape must be known"));
    } else {
      shape_ = *known;
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file_));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape_));
    if (bytes.size() < y->size_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_, " has ", bytes.size(), " bytes, ", y->size_bytes(), " are needed"));
    }
    CopyElements(y->dtype(), absl::string_view(bytes.data(), y->size_bytes()), y->mutable_raw());
    return absl::OkStatus();
  }

 private:
  const std::string file_;
  Shape shape_;
};
REGISTER_KERNEL("ImmutableConst", kCpu, ImmutableConstKernel);

// Makes missing directories.
class WriteFileKernel : public OpKernel {
 public:
  explicit WriteFileKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i : {0, 1}) {
      if (ctx.input(i).rank() == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "filename" : "contents",
                                                     " must be a scalar, has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    const std::string& path = ctx.input(0).scalar<std::string>();
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      RETURN_IF_ERROR(CreateDirectories(path.substr(0, slash)));
    }
    return WriteFileAtomically(path, ctx.input(1).scalar<std::string>());
  }
};
REGISTER_KERNEL("WriteFile", kCpu, WriteFileKernel);

// The files that match one of several patterns, sorted.
class MatchingFilesKernel : public OpKernel {
 public:
  explicit MatchingFilesKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const auto patterns = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(const std::vector<std::string> found,
                     FilesThatMatch({patterns.data(), patterns.size()}));
    return SetVectorOutput(ctx, 0, absl::MakeConstSpan(found));
  }
};
REGISTER_KERNEL("MatchingFiles", kCpu, MatchingFilesKernel);

}  // namespace
}  // namespace tessera

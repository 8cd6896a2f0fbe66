// Saving and restoring: the ops that TensorFlow's savers put into graphs.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_v1.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/open_checkpoint.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// The prefix of a checkpoint, which may be a tensor of any rank with one element.
absl::StatusOr<std::string> ScalarString(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() != DType::kString || tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' must be a scalar string, has shape ", tensor.shape().ToString()));
  }
  return tensor.scalar<std::string>();
}

// The vectors tensor_names and shape_and_slices, which must have an element for each tensor.
absl::Status CheckNames(const KernelContext& ctx, int num_tensors) {
  for (int i : {1, 2}) {
    const Tensor& names = ctx.input(i);
    if (names.rank() != 1 || names.num_elements() != num_tensors) {
      return absl::InvalidArgumentError(
          absl::StrCat(i == 1 ? "'tensor_names'" : "'shape_and_slices'",
                       " must be a vector with an element for each of ", num_tensors,
                       " tensors, has shape ", names.shape().ToString()));
    }
  }
  return absl::OkStatus();
}

// Reads tensors, or slices of them. Where the file allows, they alias the mapped checkpoint.
// Errors: NOT_FOUND for the first tensor that is missing; if there is none, INVALID_ARGUMENT naming
// all tensors of another type than declared; else the error of the tensor, of those that cannot be
// read, whose name is first in order. TensorFlow has the same precedence. As there, a prefix
// without an index may be the file of a checkpoint of version 1, or a pattern for its files.
class RestoreV2Kernel : public OpKernel {
 public:
  explicit RestoreV2Kernel(const KernelBuild& build)
      : dtypes_(build.attr<std::vector<DType>>("dtypes")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string prefix, ScalarString(ctx, 0, "prefix"));
    RETURN_IF_ERROR(CheckNames(ctx, ctx.num_outputs()));
    const auto opened = OpenForStep<CheckpointReader>(ctx, kOpenCheckpoint, prefix);
    if (absl::IsNotFound(opened.status()) && !IsDirectory(prefix)) {
      const auto old = OpenForStep<CheckpointV1Reader>(ctx, kOpenCheckpointV1, prefix);
      if (!absl::IsNotFound(old.status())) {
        RETURN_IF_ERROR(old.status());
        return RestoreV1(ctx, (*old)->reader());
      }
    }
    RETURN_IF_ERROR(opened.status());
    const CheckpointReader& reader = (*opened)->reader();
    RETURN_IF_ERROR(CheckTensors(ctx, reader, prefix));
    // The error is that of the first tensor by name, whichever thread finds one first: a damaged
    // file fails in the same words each time.
    absl::Mutex mu;
    absl::Status error;
    std::string error_name;
    // Checking the tensors' checksums is what takes time: about the speed of memory.
    constexpr double kCostPerTensor = 1e5;
    ctx.ParallelFor(ctx.num_outputs(), kCostPerTensor, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        absl::Status status = Restore(ctx, reader, static_cast<int>(i));
        if (status.ok()) continue;
        const std::string& name = ctx.input(1).flat<std::string>()[i];
        absl::MutexLock lock(&mu);
        if (error.ok() || name < error_name) {
          error_name = name;
          error = std::move(status);
        }
      }
    });
    return error;
  }

 private:
  absl::Status CheckTensors(const KernelContext& ctx, const CheckpointReader& reader,
                            const std::string& prefix) const {
    std::vector<std::string> of_other_types;
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      const std::string& name = ctx.input(1).flat<std::string>()[i];
      ASSIGN_OR_RETURN(const CheckpointEntry entry, reader.Find(name));
      if (entry.dtype == dtypes_[i]) continue;
      of_other_types.push_back(absl::StrCat("tensor '", name, "' of checkpoint '", prefix, "' is ",
                                            DTypeName(entry.dtype), ", the graph restores it as ",
                                            DTypeName(dtypes_[i])));
    }
    if (of_other_types.empty()) return absl::OkStatus();
    std::sort(of_other_types.begin(), of_other_types.end());
    return absl::InvalidArgumentError(absl::StrJoin(of_other_types, "; "));
  }

  static absl::Status Restore(KernelContext& ctx, const CheckpointReader& reader, int i) {
    const std::string& name = ctx.input(1).flat<std::string>()[i];
    const std::string& slice = ctx.input(2).flat<std::string>()[i];
    absl::StatusOr<Tensor> tensor = slice.empty() ? reader.Read(name) : Slice(reader, name, slice);
    if (!tensor.ok()) return tensor.status();
    ctx.set_output(i, *std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status RestoreV1(KernelContext& ctx, const CheckpointV1Reader& reader) const {
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      const std::string& slice = ctx.input(2).flat<std::string>()[i];
      std::optional<ShapeAndSlice> place;
      if (!slice.empty()) {
        ASSIGN_OR_RETURN(place, ShapeAndSlice::Parse(slice));
      }
      ASSIGN_OR_RETURN(Tensor tensor,
                       reader.Read(ctx.input(1).flat<std::string>()[i], dtypes_[i], place));
      ctx.set_output(static_cast<int>(i), std::move(tensor));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Tensor> Slice(const CheckpointReader& reader, const std::string& name,
                                      const std::string& text) {
    ASSIGN_OR_RETURN(const ShapeAndSlice wanted, ShapeAndSlice::Parse(text));
    ASSIGN_OR_RETURN(const CheckpointEntry entry, reader.Find(name));
    if (!(entry.shape == wanted.shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "' has shape ", entry.shape.ToString(),
                       " in the checkpoint, not ", wanted.shape.ToString()));
    }
    return reader.ReadSlice(name, wanted.slice);
  }

  const std::vector<DType> dtypes_;
};
REGISTER_KERNEL("RestoreV2", kCpu, RestoreV2Kernel);

// Writes tensors, or slices of them, as one checkpoint.
class SaveV2Kernel : public OpKernel {
 public:
  explicit SaveV2Kernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    constexpr int kFirstTensor = 3;
    const int num_tensors = ctx.num_inputs() - kFirstTensor;
    ASSIGN_OR_RETURN(const std::string prefix, ScalarString(ctx, 0, "prefix"));
    RETURN_IF_ERROR(CheckNames(ctx, num_tensors));
    ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(prefix));
    for (int i = 0; i < num_tensors; ++i) {
      const std::string& name = ctx.input(1).flat<std::string>()[i];
      const std::string& slice = ctx.input(2).flat<std::string>()[i];
      const Tensor& tensor = ctx.input(kFirstTensor + i);
      if (slice.empty()) {
        RETURN_IF_ERROR(writer.Add(name, tensor));
        continue;
      }
      ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(slice));
      RETURN_IF_ERROR(writer.AddSlice(name, part.shape, part.slice, tensor));
    }
    RETURN_IF_ERROR(writer.Finish());
    CloseForStep(ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SaveV2", kCpu, SaveV2Kernel);

// One checkpoint of those that the tasks of a cluster, or the shards of a saver, have written.
class MergeV2CheckpointsKernel : public OpKernel {
 public:
  explicit MergeV2CheckpointsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& prefixes = ctx.input(0);
    if (prefixes.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'checkpoint_prefixes' must be a vector, has shape ", prefixes.shape().ToString()));
    }
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'destination_prefix' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    RETURN_IF_ERROR(
        MergeCheckpoints(prefixes.flat<std::string>(), ctx.input(1).scalar<std::string>()));
    CloseForStep(ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("MergeV2Checkpoints", kCpu, MergeV2CheckpointsKernel);

// Errors: INVALID_ARGUMENT if an input has dimensions, be they of one element.
absl::Status CheckScalars(const KernelContext& ctx, std::initializer_list<const char*> names) {
  int i = 0;
  for (const char* name : names) {
    const Tensor& input = ctx.input(i++);
    if (input.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' must be a scalar, has shape ", input.shape().ToString()));
    }
  }
  return absl::OkStatus();
}

// "BASE-00002-of-00004".
class ShardedFilenameKernel : public OpKernel {
 public:
  explicit ShardedFilenameKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalars(ctx, {"basename", "shard", "num_shards"}));
    return SetScalarOutput(
        ctx, 0,
        absl::StrFormat("%s-%05d-of-%05d", ctx.input(0).scalar<std::string>(),
                        ctx.input(1).scalar<int32_t>(), ctx.input(2).scalar<int32_t>()));
  }
};
REGISTER_KERNEL("ShardedFilename", kCpu, ShardedFilenameKernel);

// "BASE-?????-of-00004", a pattern for all of them.
class ShardedFilespecKernel : public OpKernel {
 public:
  explicit ShardedFilespecKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalars(ctx, {"basename", "num_shards"}));
    return SetScalarOutput(
        ctx, 0,
        absl::StrFormat("%s-\?\?\?\?\?-of-%05d", ctx.input(0).scalar<std::string>(),
                        ctx.input(1).scalar<int32_t>()));
  }
};
REGISTER_KERNEL("ShardedFilespec", kCpu, ShardedFilespecKernel);

}  // namespace
}  // namespace tessera

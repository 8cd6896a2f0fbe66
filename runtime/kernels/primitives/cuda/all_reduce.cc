// Reductions over several GPUs of this machine, by NCCL.
#include "runtime/kernels/primitives/all_reduce.h"

#include <nccl.h>

#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/kernels/primitives/cuda/registration.h"

namespace tessera::cuda {
namespace {

absl::Status NcclStatus(const Nccl& nccl, ncclResult_t result, absl::string_view what) {
  if (result == ncclSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("NCCL, ", what, ": ", nccl.ncclGetErrorString(result)));
}

std::optional<ncclDataType_t> DataTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return ncclFloat16;
    case DType::kBfloat16:
      return ncclBfloat16;
    case DType::kFloat:
      return ncclFloat32;
    case DType::kDouble:
      return ncclFloat64;
    case DType::kInt32:
      return ncclInt32;
    case DType::kInt64:
      return ncclInt64;
    default:
      return std::nullopt;
  }
}

std::optional<ncclRedOp_t> OperationOf(const AllReduce::Options& options, DType dtype) {
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  switch (options.merge) {
    case AllReduce::Merge::kAdd:
      if (!options.divide) return ncclSum;
      // Integers are divided after they are added up.
      return is_integer ? std::nullopt : std::optional<ncclRedOp_t>(ncclAvg);
    case AllReduce::Merge::kMul:
      return options.divide ? std::nullopt : std::optional<ncclRedOp_t>(ncclProd);
    case AllReduce::Merge::kMin:
      return options.divide ? std::nullopt : std::optional<ncclRedOp_t>(ncclMin);
    case AllReduce::Merge::kMax:
      return options.divide ? std::nullopt : std::optional<ncclRedOp_t>(ncclMax);
  }
  return std::nullopt;
}

// The communicators of groups of GPUs. They live as long as the program.
class Communicators {
 public:
  // Held while a group enqueues its work, so that all GPUs get that of several groups in one order.
  absl::Mutex& mu() ABSL_LOCK_RETURNED(mu_) { return mu_; }
  // One communicator a GPU, for GPUs by CUDA's number, each of them once.
  absl::StatusOr<absl::Span<const ncclComm_t>> Of(const Nccl& nccl, const std::vector<int>& gpus)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<ncclComm_t>& group = by_gpus_[gpus];
    if (group.empty()) {
      std::vector<ncclComm_t> made(gpus.size());
      RETURN_IF_ERROR(NcclStatus(
          nccl, nccl.ncclCommInitAll(made.data(), static_cast<int>(gpus.size()), gpus.data()),
          "communicators"));
      group = std::move(made);
    }
    return group;
  }

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<std::vector<int>, std::vector<ncclComm_t>> by_gpus_ ABSL_GUARDED_BY(mu_);
};

absl::Status RunAllReduce(const AllReduce::Options& options,
                          absl::Span<const AllReduce::Member> members,
                          std::vector<Tensor>* results) {
  static auto* const communicators = new Communicators;
  const Tensor& first = members[0].input;
  const std::optional<ncclDataType_t> type = DataTypeOf(first.dtype());
  const std::optional<ncclRedOp_t> operation = OperationOf(options, first.dtype());
  const absl::StatusOr<const Nccl*> nccl = LoadNccl();
  std::vector<int> gpus;
  for (const AllReduce::Member& member : members) {
    gpus.push_back(CudaStream::Of(*member.ctx).gpu());
  }
  const bool gpus_differ = absl::flat_hash_set<int>(gpus.begin(), gpus.end()).size() == gpus.size();
  if (!type.has_value() || !operation.has_value() || !gpus_differ || !nccl.ok()) {
    return absl::UnimplementedError("NCCL does not make this reduction");
  }
  std::vector<Tensor> outputs;
  for (const AllReduce::Member& member : members) {
    ASSIGN_OR_RETURN(outputs.emplace_back(),
                     member.ctx->AllocateTemp(first.dtype(), first.shape()));
  }
  if (first.num_elements() > 0) {
    absl::MutexLock lock(&communicators->mu());
    ASSIGN_OR_RETURN(const absl::Span<const ncclComm_t> group, communicators->Of(**nccl, gpus));
    RETURN_IF_ERROR(NcclStatus(**nccl, (*nccl)->ncclGroupStart(), "a group"));
    absl::Status status;
    for (size_t i = 0; i < members.size(); ++i) {
      status.Update(NcclStatus(
          **nccl,
          (*nccl)->ncclAllReduce(members[i].input.address(), outputs[i].address(),
                                 static_cast<size_t>(first.num_elements()), *type, *operation,
                                 group[i], CudaStream::Of(*members[i].ctx).cuda()),
          "a reduction"));
    }
    status.Update(NcclStatus(**nccl, (*nccl)->ncclGroupEnd(), "a group"));
    RETURN_IF_ERROR(status);
  }
  results->insert(results->end(), outputs.begin(), outputs.end());
  return absl::OkStatus();
}
REGISTER_CUDA_PRIMITIVE(AllReduce, RunAllReduce);

}  // namespace
}  // namespace tessera::cuda

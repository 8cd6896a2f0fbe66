// Collective operations in a group of one member, where each gives what the member has. Reductions
// of several members are in collective_reduce.cc.
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/collective_group.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless the size is positive; UNIMPLEMENTED for a group of several.
absl::Status CheckGroupSize(int64_t size) {
  if (size == 1) return absl::OkStatus();
  RETURN_IF_ERROR(CheckGroupSizeIsPositive(size));
  return absl::UnimplementedError(
      absl::StrCat("a collective operation in a group of ", size,
                   " members is not supported: run the graph on one device, with group_size 1"));
}

// What an operation asks of the shape of its input.
enum class Shapes : uint8_t { kAny, kDeclared, kRows };

// Gives its input. `group_size` is an attribute, an input, or follows from the communicator.
template <Shapes kShapes>
class CollectiveKernel final : public OpKernel {
 public:
  explicit CollectiveKernel(const KernelBuild& build) : size_input_(-1) {
    if (build.has_attr("group_size")) {
      build.Fail(CheckGroupSize(build.attr<int64_t>("group_size")));
    } else {
      takes_groups_ = build.input_types()[1] == DType::kResource;
      size_input_ = build.inputs(takes_groups_ ? "group_assignment" : "group_size").begin;
    }
    for (const ArgDef& input : build.op().inputs) {
      if (input.name != "group_key" && input.name != "instance_key") continue;
      key_inputs_.push_back(build.inputs(input.name).begin);
    }
    if (kShapes == Shapes::kDeclared) shape_ = build.attr<PartialShape>("shape");
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    if (size_input_ >= 0) RETURN_IF_ERROR(CheckGroupInput(ctx.input(size_input_), takes_groups_));
    for (const int key : key_inputs_) {
      if (ctx.input(key).rank() == 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the keys of a group must be scalars, one has shape ",
                       ctx.input(key).shape().ToString()));
    }
    const Shape& shape = ctx.input(0).shape();
    if (kShapes == Shapes::kDeclared && !shape_.IsCompatibleWith(shape)) {
      // INTERNAL as in TensorFlow.
      return absl::InternalError(absl::StrCat("the input has shape ", shape.ToString(),
                                              ", declared is ", shape_.ToString()));
    }
    if (kShapes == Shapes::kRows && shape.rank() == 0) {
      return absl::InvalidArgumentError("the input must have at least one dimension");
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  // A row of members for each group, or a scalar group size.
  static absl::Status CheckGroupInput(const Tensor& group, bool is_matrix) {
    if (is_matrix && group.rank() == 2) return CheckGroupSize(group.dim(1));
    ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(group, "group_size"));
    return CheckGroupSize(size);
  }

  int size_input_;
  std::vector<int> key_inputs_;  // positions of the group's and the instance's key
  bool takes_groups_ = false;
  PartialShape shape_;
};
using AnyShape = CollectiveKernel<Shapes::kAny>;
using Rows = CollectiveKernel<Shapes::kRows>;
REGISTER_KERNEL("CollectiveReduceV3", kCpu, AnyShape);
REGISTER_KERNEL("CollectiveBcastSend", kCpu, CollectiveKernel<Shapes::kDeclared>);
REGISTER_KERNEL("CollectiveBcastSendV2", kCpu, AnyShape);
REGISTER_KERNEL("CollectiveGather", kCpu, Rows);
REGISTER_KERNEL("CollectiveGatherV2", kCpu, Rows);
REGISTER_KERNEL("CollectiveAllToAllV2", kCpu, Rows);
REGISTER_KERNEL("CollectiveAllToAllV3", kCpu, Rows);
REGISTER_KERNEL("CollectiveReduceScatterV2", kCpu, Rows);

// A group of one member has nobody who sends.
class BroadcastReceiveKernel final : public OpKernel {
 public:
  explicit BroadcastReceiveKernel(const KernelBuild& build) {
    if (build.has_attr("group_size")) build.Fail(CheckGroupSize(build.attr<int64_t>("group_size")));
  }
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.num_inputs() > 0) {
      ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(ctx.input(0), "group_size"));
      RETURN_IF_ERROR(CheckGroupSize(size));
    }
    return absl::InternalError("the only member of a group cannot receive a broadcast: none sends");
  }
};
REGISTER_KERNEL("CollectiveBcastRecv", kCpu, BroadcastReceiveKernel);
REGISTER_KERNEL("CollectiveBcastRecvV2", kCpu, BroadcastReceiveKernel);

// The size and the key of the group in which a device is; a row of the assignment is a group.
class AssignGroupKernel final : public OpKernel {
 public:
  explicit AssignGroupKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& groups = ctx.input(0);
    ASSIGN_OR_RETURN(const int64_t device, ReadIntegerOfScalar(ctx.input(1), "device_index"));
    ASSIGN_OR_RETURN(const int64_t base_key, ReadIntegerOfScalar(ctx.input(2), "base_key"));
    if (groups.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("group_assignment must be a matrix, has shape ", groups.shape().ToString()));
    }
    const auto members = groups.flat<int32_t>();
    const auto found = std::find(members.begin(), members.end(), device);
    // TensorFlow looks no further than the device.
    const auto last = found == members.end() ? found : found + 1;
    for (auto member = members.begin(); member != last; ++member) {
      if (*member < 0 || *member >= static_cast<int64_t>(members.size())) {
        return absl::InvalidArgumentError(absl::StrCat("group_assignment has ", *member,
                                                       ", which is no number of one of ",
                                                       members.size(), " devices"));
      }
    }
    if (found == members.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("device_index ", device, " is not found in group_assignment"));
    }
    const int64_t group = (found - members.begin()) / groups.dim(1);
    // The groups up to the device's have the keys from base_key on, which wrap around.
    if (base_key <= 0 && base_key + group >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("base_key = ", base_key, " gives group ", -base_key,
                       " of group_assignment the key 0, which is reserved"));
    }
    RETURN_IF_ERROR(SetScalarOutput(ctx, 0, static_cast<int32_t>(groups.dim(1))));
    return SetScalarOutput(ctx, 1, static_cast<int32_t>(base_key + group));
  }
};
REGISTER_KERNEL("CollectiveAssignGroupV2", kCpu, AssignGroupKernel);

class Communicator final : public Resource {
 public:
  std::string DebugString() const override { return "communicator of one member"; }
};

// Errors: INVALID_ARGUMENT for a rank beyond the group.
class InitializeCommunicatorKernel final : public OpKernel {
 public:
  explicit InitializeCommunicatorKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ReadIntegerOfScalar(ctx.input(0), "group_key").status());
    ASSIGN_OR_RETURN(const int64_t rank, ReadIntegerOfScalar(ctx.input(1), "rank"));
    ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(ctx.input(2), "group_size"));
    RETURN_IF_ERROR(CheckGroupSize(size));
    if (rank != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank = ", rank, " is not in a group of one member"));
    }
    ResourceHandle handle;
    handle.type_name = "communicator";
    handle.resource = MakeRefCounted<Communicator>();
    return SetScalarOutput(ctx, 0, std::move(handle));
  }
};
REGISTER_KERNEL("CollectiveInitializeCommunicator", kCpu, InitializeCommunicatorKernel);

}  // namespace
}  // namespace tessera

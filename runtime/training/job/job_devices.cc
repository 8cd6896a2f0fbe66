#include "runtime/training/job/job_devices.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/device/gpu_options/gpu_options.h"
#include "runtime/framework/device.h"

namespace tessera {
namespace {

// Returns the type of device that the job names; empty if it leaves that open.
std::string TypeOf(const training::DeviceSpec& spec) {
  return spec.type() == "auto" ? "" : absl::AsciiStrToUpper(spec.type());
}

}  // namespace

absl::StatusOr<DeviceOptions> TrainingDevices(const training::DeviceSpec& spec) {
  const std::string type = TypeOf(spec);
  if (type == kCpu) return DataDevices();
  GpuOptions gpus = CurrentGpuOptions();
  gpus.memory_fraction = spec.memory_fraction();
  gpus.allow_growth = spec.allow_growth();
  gpus.visible.assign(spec.gpus().begin(), spec.gpus().end());
  SetGpuOptions(std::move(gpus));
  DeviceOptions options;
  if (type.empty() || (type == kGpu && IsBuiltForGpus())) return options;
  if (type == kGpu) {
    return absl::InvalidArgumentError(
        "device.type is gpu, but this program was built without --config=cuda");
  }
  DeviceOptions none = DataDevices();
  none.count[type] = 0;
  if (const absl::Status status = MakeDevices(none).status(); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device.type is ", spec.type(), ", but ", status.message(),
                     "; auto takes the best of them, and gpu needs a program for GPUs"));
  }
  options.count[type] = 1;
  return options;
}

DeviceOptions DataDevices() {
  DeviceOptions options;
  if (IsBuiltForGpus()) options.count[std::string(kGpu)] = 0;
  return options;
}

absl::Status CheckTrainingDevice(const training::DeviceSpec& spec, const Session& session) {
  const std::string type = TypeOf(spec);
  const auto is_of_type = [&](const Device* device) { return device->name().type == type; };
  if (type.empty() || absl::c_any_of(session.ListDevices(), is_of_type)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("device.type is ", spec.type(), ", and this machine has none that can be used; ",
                   "with auto or cpu the job trains on the CPU"));
}

}  // namespace tessera

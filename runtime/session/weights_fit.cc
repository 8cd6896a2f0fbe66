#include "runtime/session/weights_fit.h"

#include <cstdint>
#include <memory>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"

namespace tessera {
namespace {

constexpr double kMiB = 1 << 20;

absl::StatusOr<int64_t> NumericBytes(const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  int64_t bytes = 0;
  for (const std::string& name : reader->TensorNames()) {
    ASSIGN_OR_RETURN(const CheckpointEntry entry, reader->Find(name));
    if (!IsTriviallyCopyable(entry.dtype)) continue;
    bytes += entry.shape.num_elements() * static_cast<int64_t>(DTypeSize(entry.dtype));
  }
  return bytes;
}

}  // namespace

absl::Status CheckWeightsFit(const std::string& prefix, const std::vector<const Device*>& devices) {
  int64_t limit = 0, in_use = 0;
  for (const Device* device : devices) {
    const DeviceStats stats = device->stats();
    if (device->memory_kind() != MemoryKind::kDevice || stats.bytes_limit == 0) continue;
    limit += stats.bytes_limit;
    in_use += stats.bytes_in_use;
  }
  if (limit == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t needed, NumericBytes(prefix));
  if (needed <= limit - in_use) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the weights take %.1f MiB, and of the %.1f MiB of memory on the accelerators %.1f MiB are "
      "free; unload another version or model first, or give the process more",
      needed / kMiB, limit / kMiB, (limit - in_use) / kMiB));
}

}  // namespace tessera

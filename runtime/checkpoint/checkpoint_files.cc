#include "runtime/checkpoint/checkpoint_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_index.h"

namespace tessera {
namespace {

// The unit of stat::st_blocks.
constexpr int64_t kBlockBytes = 512;

}  // namespace

absl::Status CheckCheckpointFiles(const std::string& prefix, bool* has_holes) {
  *has_holes = false;
  std::map<int, uint64_t> ends;  // by shard: the end of its last tensor
  ASSIGN_OR_RETURN(const CheckpointHeader header,
                   ReadCheckpointIndex(prefix, [&](absl::string_view, CheckpointIndexEntry entry) {
                     uint64_t& end = ends[entry.shard];
                     if (entry.slices.empty()) {
                       end = std::max(end, static_cast<uint64_t>(entry.stored.offset) +
                                               static_cast<uint64_t>(entry.stored.size));
                     }
                     return absl::OkStatus();
                   }));
  for (const auto& [shard, end] : ends) {
    const std::string path = ShardPath(prefix, shard, header.num_shards);
    struct stat info;
    if (stat(path.c_str(), &info) != 0)
      return absl::NotFoundError(absl::StrCat(path, " is missing"));
    if (info.st_blocks * kBlockBytes < info.st_size) *has_holes = true;
    if (static_cast<uint64_t>(info.st_size) < end) {
      return absl::DataLossError(absl::StrCat(path, " is not all there"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera

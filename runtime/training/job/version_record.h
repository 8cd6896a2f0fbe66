// VersionRecord: what an exported version says of its training.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tessera {

struct VersionRecord {
  std::string run;     // the run's folder
  std::string run_id;  // RunFolder::Id()
  int64_t step = 0;
  std::map<std::string, double> metrics;  // of its last evaluation; finite ones
};

// Writes VERSION/assets.extra/training.json: {"run": ..., "run_id": ..., "step": ...,
// "metrics": {NAME: VALUE}}.
absl::Status WriteVersionRecord(const std::string& version, const VersionRecord& record);

// Returns nullopt for a version without a record, or with one that cannot be read.
std::optional<VersionRecord> ReadVersionRecord(const std::string& version);

// Returns the paths of the versions in a base path by their numbers. As servers do, it takes an
// entry whose name is a number with leading zeros, too.
std::map<int64_t, std::string> ListVersions(const std::string& base_path);

}  // namespace tessera

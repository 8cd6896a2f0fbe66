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

// Returns the numbers among the entries of a folder of versions, in ascending order.
std::vector<int64_t> ListVersions(const std::string& base_path);

}  // namespace tessera

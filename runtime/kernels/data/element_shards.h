// Elements of a dataset in files, spread over shards by a function: what snapshots and saved
// datasets are made of.
//
// A folder has a file `N.elements` of records (see runtime/data/element_bytes.h) for each shard N,
// and a file `shards`, which appears when the others are complete and names the shards, one a line.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/file_system.h"
#include "runtime/data/captured_function.h"
#include "runtime/data/dataset.h"

namespace tessera {

// Writes a folder. It is complete after Finish(), and without that call nothing is left of it. Used
// by one thread at a time.
class ElementShardWriter {
 public:
  // Makes the folder if it is missing.
  static absl::StatusOr<std::unique_ptr<ElementShardWriter>> Create(const std::string& folder);
  absl::Status Append(int64_t shard, const Element& element);
  absl::Status Finish();

 private:
  explicit ElementShardWriter(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  std::map<int64_t, std::unique_ptr<AtomicFile>> shards_;
};

// Returns whether the folder is complete.
bool HasElementShards(const std::string& folder);

// Returns what `reader` makes of a dataset of datasets, one for each shard in the order of their
// numbers. A folder of one shard needs none: null gives the elements of that shard. Errors:
// NOT_FOUND unless the folder is complete; those of the function.
absl::StatusOr<DatasetPtr> ReadElementShards(StepContext& step, const std::string& folder,
                                             const ElementSpec& spec,
                                             const CapturedFunction* reader);

}  // namespace tessera

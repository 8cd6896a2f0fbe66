// GraphCache: the graphs of the SavedModels that are loaded, for versions that bring new weights.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/saved_model_graph.h"

namespace tessera::serving {

// Keeps a graph as long as somebody else holds it. Thread-safe.
class GraphCache {
 public:
  using Graph = std::shared_ptr<const SavedModelGraph>;

  // Returns the graph of the SavedModel in `directory`. Imports it unless somebody holds the graph
  // of the file that is there now, or of one that was there and has been removed. All calls must
  // name the same tags. Errors: those of ImportSavedModel().
  absl::StatusOr<Graph> Get(const std::string& directory, const std::set<std::string>& tags,
                            LoadStages* stages);

  // Returns the graph for the weights that are version `number` at `path`. Beside `path`, that is
  // the SavedModel in the folder `graph` if there is one, or else that of the highest lower version
  // which has one, on disk or, if it has been removed, still loaded. So the answer does not depend
  // on which versions are loaded as long as folders with graphs are kept. Errors: NOT_FOUND if
  // there is none; those of Get().
  absl::StatusOr<Graph> GetForWeights(const std::string& path, int64_t number,
                                      const std::set<std::string>& tags, LoadStages* stages);

 private:
  // The device, inode, size and times of a file.
  using FileIdentity = std::array<int64_t, 7>;
  struct Entry {
    FileIdentity file;
    std::weak_ptr<const SavedModelGraph> graph;
  };

  // Returns zeros if there is no file.
  static FileIdentity Identify(const std::string& directory);
  // Returns the loaded graph of a directory if it is that of the file there; null otherwise.
  Graph Find(const std::string& directory) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the directories in `base_path` whose graphs are loaded, by number.
  std::map<int64_t, std::string> LoadedVersions(const std::string& base_path)
      ABSL_LOCKS_EXCLUDED(mu_);

  absl::Mutex mu_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);  // by directory
};

}  // namespace tessera::serving

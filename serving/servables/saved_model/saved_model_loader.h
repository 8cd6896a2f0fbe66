// SavedModelLoader: loads the directory of a version into a SavedModelServable.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "runtime/session/saved_model.h"
#include "serving/batching/run_wrapper.h"
#include "serving/core/loader.h"
#include "serving/core/servable_id.h"
#include "serving/servables/saved_model/run_metrics.h"
#include "serving/servables/saved_model/saved_model_servable.h"

namespace tessera::serving {

// Its servable is a `const Servable`.
class SavedModelLoader : public Loader {
 public:
  struct Options {
    // The tags of the meta graph to load. The meta graph must have exactly these.
    std::set<std::string> tags = {"serve"};
    // Should hold thread pools, because threads that a load starts keep its low priority.
    SessionOptions session;
    bool check_method_names = false;
    // Makes what wraps the compiled runs of the version in this directory: batching, or null for
    // none. May be empty. Called once for each load; an error fails the load.
    std::function<absl::StatusOr<std::shared_ptr<RunWrapper>>(const std::string& directory)>
        make_run_wrapper;
    // Runs requests before the version becomes available; an error fails the load. May be empty.
    // `likely_rows` are those of the run wrapper; empty if there is none.
    std::function<absl::Status(const std::string& directory, const Servable& servable,
                               absl::Span<const int64_t> likely_rows)>
        warm_up;
    // May be null; must outlive the loader.
    RunMetrics* metrics = nullptr;
  };

  // Loads the version `id` from its directory.
  SavedModelLoader(ServableId id, std::string directory, std::shared_ptr<const Options> options);
  ~SavedModelLoader() override;

  // Estimates from the sizes of the files below the directory. The data of variables is mapped. All
  // other files are read, and three fifths of the whole are added for packed weights and buffers.
  // Errors: FAILED_PRECONDITION if it is no directory, NOT_FOUND if it is not there,
  // PERMISSION_DENIED.
  absl::StatusOr<MemoryEstimate> EstimateMemory() override;
  // Errors: NOT_FOUND without a saved_model.pb or .pbtxt; UNIMPLEMENTED for a model of the format
  // before SavedModel; those of LoadSavedModel(), of warm-up and of batching's configuration.
  absl::Status Load() override;
  // Those of LoadSavedModel(), and "warm_up".
  LoadStages Stages() const override { return stages_; }
  void BeginDraining() override;
  void Unload() override;
  AnyServable servable() override;
  // Errors: DATA_LOSS once weights that are in use cannot be read any more.
  absl::Status Health() const override;

 private:
  absl::StatusOr<std::unique_ptr<const SavedModelServable>> LoadServable();

  const ServableId id_;
  const std::string directory_;
  const std::shared_ptr<const Options> options_;
  std::unique_ptr<ShownPaths::Share> shown_;  // set by the first try to load
  std::shared_ptr<RunWrapper> run_wrapper_;   // of the servable; may be null
  std::unique_ptr<const SavedModelServable> servable_;
  LoadStages stages_;
};

}  // namespace tessera::serving

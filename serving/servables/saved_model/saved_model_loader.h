// SavedModelLoader: loads a version, a SavedModel or weights for the graph of another one, into a
// SavedModelServable.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "runtime/profile/tracer.h"
#include "runtime/session/saved_model.h"
#include "serving/batching/run_wrapper.h"
#include "serving/core/loader.h"
#include "serving/core/servable_id.h"
#include "serving/servables/saved_model/graph_cache.h"
#include "serving/servables/saved_model/run_metrics.h"
#include "serving/servables/saved_model/saved_model_servable.h"

namespace tessera::serving {

// The servable of this loader is a `const Servable`.
class SavedModelLoader : public Loader {
 public:
  struct Options {
    // The tags of the meta graph to load. The meta graph must have exactly these.
    std::set<std::string> tags = {"serve"};
    // Should hold thread pools, because threads that a load starts keep its low priority.
    SessionOptions session;
    // Has the graphs that versions share.
    std::shared_ptr<GraphCache> graphs = std::make_shared<GraphCache>();
    bool check_method_names = false;
    // Makes what wraps the compiled runs of the version `id` in this directory: batching, or null
    // for none. May be empty. Called once for each load; an error fails the load. For weights, it
    // is the directory of their graph, unless they have parameters of their own.
    std::function<absl::StatusOr<std::shared_ptr<RunWrapper>>(const ServableId& id,
                                                              const std::string& directory)>
        make_run_wrapper;
    // Runs requests before the version becomes available; an error fails the load. May be empty.
    // `likely_rows` are those of the run wrapper; empty if there is none. For weights, the
    // directory is that of their graph, unless they have `assets.extra` of their own.
    std::function<absl::Status(const std::string& directory, const Servable& servable,
                               absl::Span<const int64_t> likely_rows)>
        warm_up;
    // May be null; must outlive the loader.
    RunMetrics* metrics = nullptr;
    // Records runs and their ops. May be null; must outlive the loader.
    Tracer* tracer = nullptr;
  };

  // Loads the version `id` from its path, see FindVersionFiles(). The graph of a version that has
  // weights alone is that of GraphCache::GetForWeights().
  SavedModelLoader(ServableId id, std::string path, std::shared_ptr<const Options> options);
  ~SavedModelLoader() override;

  // See EstimateVersionMemory().
  absl::StatusOr<MemoryEstimate> EstimateMemory() override;
  // Errors: those of FindVersionFiles(); of LoadSavedModel(), or of GraphCache::GetForWeights() and
  // LoadWeights(); of warm-up and of batching's configuration.
  absl::Status Load() override;
  // Those of LoadSavedModel(), and "warm_up".
  LoadStages Stages() const override { return stages_; }
  void BeginDraining() override;
  void Unload() override;
  AnyServable servable() override;
  // Returns the servable as what it is, for those who load a model without a manager. Null unless
  // it is loaded.
  const SavedModelServable* model() const { return servable_.get(); }
  // Errors: DATA_LOSS once weights that are in use cannot be read any more.
  absl::Status Health() const override;

 private:
  // Load() without a guard against exceptions. May leave a servable if it fails.
  absl::Status LoadServable();
  absl::StatusOr<SavedModelBundle> LoadBundle() const;
  absl::StatusOr<std::unique_ptr<const SavedModelServable>> MakeServable(
      SavedModelBundle bundle) const;

  const ServableId id_;
  const std::string path_;
  const std::shared_ptr<const Options> options_;
  std::unique_ptr<ShownPaths::Share> shown_;  // set by the first try to load
  std::shared_ptr<RunWrapper> run_wrapper_;   // of the servable; may be null
  std::unique_ptr<const SavedModelServable> servable_;
  LoadStages stages_;
};

}  // namespace tessera::serving

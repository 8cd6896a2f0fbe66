// Loader: how one version comes into memory and leaves it.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/core/memory_budget.h"
#include "serving/core/servable_handle.h"

namespace tessera::serving {

// Owns what it loads. A manager calls EstimateMemory() and Load() on its load threads, again after
// a failure, then Unload() on an unload thread once nobody holds the servable, and destroys the
// loader there. Never two of these calls at a time. Before Unload() comes BeginDraining(), on the
// manager's own thread; Health() may come beside the others.
class Loader {
 public:
  virtual ~Loader() = default;

  // What the servable will take, roughly. Called before each Load(); an error stands for a failed
  // load of a version that has not got as far as loading: a directory that is none.
  virtual absl::StatusOr<MemoryEstimate> EstimateMemory() { return MemoryEstimate(); }
  // Makes the servable. May take long. After an error everything is as before the call.
  virtual absl::Status Load() = 0;
  // The servable is to be unloaded: nobody gets hold of it any more, but some still have it and
  // work with it, perhaps in other calls of this moment. Must not wait.
  virtual void BeginDraining() {}
  // Destroys the servable and gives its memory back.
  virtual void Unload() = 0;
  // The servable between Load() and Unload().
  virtual AnyServable servable() = 0;
  // Whether the loaded servable can still answer rightly; not so if what it was made from was taken
  // from under it. Cheap; thread-safe. An error ends the version.
  virtual absl::Status Health() const { return absl::OkStatus(); }
};

}  // namespace tessera::serving

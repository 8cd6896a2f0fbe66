// Loader: brings one version of a servable into memory and removes it.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/core/load_report.h"
#include "serving/core/memory_budget.h"
#include "serving/core/servable_handle.h"

namespace tessera::serving {

// Owns the servable that it loads. A manager makes these calls, never two of the first four at a
// time:
//   EstimateMemory(), Load()   on a load thread, both again after a failure
//   BeginDraining()            on the manager's own thread, when the version is to go
//   Unload()                   on an unload thread, once nobody holds the servable; the loader is
//                              destroyed there
//   Health()                   at any time between Load() and Unload(), beside the other calls
class Loader {
 public:
  virtual ~Loader() = default;

  // Returns roughly how much memory the servable will take. Called before each Load(). An error
  // counts as a failed load, for example because the directory is a file.
  virtual absl::StatusOr<MemoryEstimate> EstimateMemory() { return MemoryEstimate(); }
  // Makes the servable. May take long. After an error the loader is as it was before the call.
  virtual absl::Status Load() = 0;
  // Returns the stages of the last Load(), as far as it came. Called on the same thread after it.
  virtual LoadStages Stages() const { return {}; }
  // Tells that the servable will be unloaded. Nobody acquires it any more, but requests that hold
  // it still use it, perhaps while this call runs. Must not wait.
  virtual void BeginDraining() {}
  // Destroys the servable and gives its memory back.
  virtual void Unload() = 0;
  // Returns the servable. Called between Load() and Unload().
  virtual AnyServable servable() = 0;
  // Returns OK if the loaded servable can still answer correctly. It cannot if the files that it
  // was made from were damaged meanwhile. Must be cheap and thread-safe. An error ends the version.
  virtual absl::Status Health() const { return absl::OkStatus(); }
};

}  // namespace tessera::serving

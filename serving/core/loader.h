// Loader: how one version comes into memory and leaves it.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/core/servable_handle.h"

namespace tessera::serving {

// Owns what it loads. A manager calls EstimateMemory() and Load() on its load threads, again after
// a failure, then Unload() on an unload thread once nobody holds the servable, and destroys the
// loader there. Never two calls at a time. Before Unload() comes BeginDraining(), on the manager's
// own thread.
class Loader {
 public:
  virtual ~Loader() = default;

  // Bytes the servable will take, roughly. Called before each Load(); an error stands for a failed
  // load of a version that has not got as far as loading: a directory that is none.
  virtual absl::StatusOr<int64_t> EstimateMemory() { return 0; }
  // Makes the servable. May take long. After an error everything is as before the call.
  virtual absl::Status Load() = 0;
  // The servable is to be unloaded: nobody gets hold of it any more, but some still have it and
  // work with it, perhaps in other calls of this moment. Must not wait.
  virtual void BeginDraining() {}
  // Destroys the servable and gives its memory back.
  virtual void Unload() = 0;
  // The servable between Load() and Unload().
  virtual AnyServable servable() = 0;
};

}  // namespace tessera::serving

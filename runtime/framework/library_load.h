// The registrations of an op library while it is loaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/op.h"

namespace tessera {

// Collects the ops and kernels that static initialisers register on this thread, so that either all
// of them enter the registries or none.
//
//   LibraryLoad load;
//   void* library = dlopen(...);
//   absl::StatusOr<std::vector<std::string>> names = load.Apply();
//
// Used by one thread. One load at a time may be in progress on a thread.
class LibraryLoad {
 public:
  LibraryLoad();
  ~LibraryLoad();
  LibraryLoad(const LibraryLoad&) = delete;
  LibraryLoad& operator=(const LibraryLoad&) = delete;

  // Returns the load in progress on this thread; null if there is none.
  static LibraryLoad* Current();

  void AddOp(OpBuilder op) { ops_.push_back(std::move(op)); }
  // `add` enters a kernel into its registry, which cannot fail.
  void AddKernel(std::function<void()> add) { kernels_.push_back(std::move(add)); }

  // Enters everything that was collected, and returns the names of the ops.
  // Errors: ALREADY_EXISTS if an op is declared already or declared twice. Nothing is entered then.
  absl::StatusOr<std::vector<std::string>> Apply();

 private:
  std::vector<OpBuilder> ops_;
  std::vector<std::function<void()>> kernels_;
};

}  // namespace tessera

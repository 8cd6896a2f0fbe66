// Compiled kernels in files, so that the next process need not compile them.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::cuda {

// A folder of files, one for each key. A file has its key and a checksum in it: one that is torn,
// altered or of another key counts as missing. Several processes may use a folder at once.
// Thread-safe.
class KernelFileCache {
 public:
  // An empty folder keeps nothing. It is created when something is stored.
  explicit KernelFileCache(std::string folder) : folder_(std::move(folder)) {}
  // In TESSERA_KERNEL_CACHE, or else in .cache/tessera/kernels of HOME; without both, and if the
  // first is set to nothing, none.
  static KernelFileCache FromEnvironment();

  std::optional<std::string> Find(absl::string_view key) const;
  // Failures are passed over: the kernel is compiled again another time.
  void Store(absl::string_view key, absl::string_view kernel) const;

 private:
  std::string PathOf(absl::string_view key) const;

  std::string folder_;
};

}  // namespace tessera::cuda

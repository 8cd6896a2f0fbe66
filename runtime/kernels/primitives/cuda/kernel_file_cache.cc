#include "runtime/kernels/primitives/cuda/kernel_file_cache.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"

namespace tessera::cuda {
namespace {

// A file: magic, checksum of all that follows, size of the key, key, kernel. Integers are those of
// the machine, as kernels are.
constexpr absl::string_view kMagic = "TSKERN1\n";
struct Prefix {
  char magic[8];
  uint32_t checksum;
  uint32_t key_size;
};

Prefix PrefixOf(absl::string_view key, absl::string_view kernel) {
  Prefix prefix{};
  std::memcpy(prefix.magic, kMagic.data(), sizeof(prefix.magic));
  prefix.key_size = static_cast<uint32_t>(key.size());
  const absl::string_view size(reinterpret_cast<const char*>(&prefix.key_size),
                               sizeof(prefix.key_size));
  prefix.checksum = ExtendCrc32c(ExtendCrc32c(ExtendCrc32c(0, size), key), kernel);
  return prefix;
}

}  // namespace

KernelFileCache KernelFileCache::FromEnvironment() {
  if (const char* const folder = std::getenv("TESSERA_KERNEL_CACHE")) {
    return KernelFileCache(folder);
  }
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return KernelFileCache("");
  return KernelFileCache(JoinPath(home, ".cache/tessera/kernels"));
}

std::string KernelFileCache::PathOf(absl::string_view key) const {
  return JoinPath(folder_, absl::StrFormat("%08x-%d.kernel", ExtendCrc32c(0, key), key.size()));
}

std::optional<std::string> KernelFileCache::Find(absl::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  absl::StatusOr<std::string> file = ReadFile(PathOf(key));
  if (!file.ok() || file->size() < sizeof(Prefix) + key.size()) return std::nullopt;
  const absl::string_view contents = absl::string_view(*file).substr(sizeof(Prefix));
  const absl::string_view kernel = contents.substr(key.size());
  const Prefix expected = PrefixOf(key, kernel);
  if (contents.substr(0, key.size()) != key ||
      std::memcmp(&expected, file->data(), sizeof(Prefix)) != 0) {
    return std::nullopt;
  }
  return std::string(kernel);
}

void KernelFileCache::Store(absl::string_view key, absl::string_view kernel) const {
  if (folder_.empty() || !CreateDirectories(folder_).ok()) return;
  const Prefix prefix = PrefixOf(key, kernel);
  WriteFileAtomically(
      PathOf(key),
      absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&prefix), sizeof(prefix)), key,
                   kernel))
      .IgnoreError();
}

}  // namespace tessera::cuda

#include "runtime/framework/op_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/framework/library_load.h"
#include "runtime/framework/op_abi.h"

namespace tessera {
namespace {

constexpr absl::string_view kRemedy =
    "; rebuild it against the headers of this server (docs/custom-ops.md)";

// Returns the ABI number at the end of the symbol that the library refers to (see op_abi.h), and ""
// if it refers to none. Symbols stand in the file as plain text. Returns nothing if the file cannot
// be read.
std::optional<std::string> AbiOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr char kPrefix[] = "tessera_op_abi_";
  const size_t symbol = bytes.find(kPrefix);
  if (symbol == std::string::npos) return "";
  const size_t number = symbol + sizeof(kPrefix) - 1;
  return bytes.substr(number, bytes.find_first_not_of("0123456789", number) - number);
}

// The dynamic linker would stop at the missing symbol as well, but name the first that it misses,
// which may be another.
absl::Status CheckAbi(const std::string& path) {
  const std::optional<std::string> abi = AbiOf(path);
  if (!abi || *abi == absl::StrCat(TESSERA_OP_ABI)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot load op library ", path, ": ",
      abi->empty() ? "it names no op ABI" : absl::StrCat("it was built for op ABI ", *abi),
      ", and this server has op ABI ", TESSERA_OP_ABI, kRemedy));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadOpLibrary(const std::string& path) {
  static absl::Mutex* const mu = new absl::Mutex;
  absl::MutexLock lock(mu);
  RETURN_IF_ERROR(CheckAbi(path));
  // Libraries whose ops were refused, by handle. They stay loaded, so loading one again runs
  // nothing.
  static auto* const refused = new std::map<void*, absl::Status>;
  LibraryLoad load;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    if (::access(path.c_str(), R_OK) != 0 && path.find('/') != path.npos) {
      return ErrnoStatus(errno, "read op library", path);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("cannot load op library ", path, ": ", reason, kRemedy));
  }
  if (const auto it = refused->find(library); it != refused->end()) return it->second;
  absl::StatusOr<std::vector<std::string>> added = load.Apply();
  if (added.ok()) return added;
  return (*refused)[library] =
             Annotate(added.status(), absl::StrCat("cannot load op library ", path, ": "));
}

}  // namespace tessera

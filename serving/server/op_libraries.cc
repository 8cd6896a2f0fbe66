#include "serving/server/op_libraries.h"

#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/framework/op_library.h"

namespace tessera::serving {

absl::StatusOr<std::vector<std::string>> LoadOpLibraries(absl::string_view paths) {
  std::vector<std::string> added;
  for (const absl::string_view path : absl::StrSplit(paths, ',', absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> ops, LoadOpLibrary(std::string(path)));
    added.insert(added.end(), ops.begin(), ops.end());
  }
  return added;
}

}  // namespace tessera::serving

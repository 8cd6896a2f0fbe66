#include "runtime/kernels/io/matching_files.h"

#include <glob.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<std::vector<std::string>> FilesThatMatch(absl::Span<const std::string> patterns) {
  std::vector<std::string> found;
  for (const std::string& pattern : patterns) {
    glob_t matches{};
    const absl::Cleanup release = [&matches] { ::globfree(&matches); };
    const int error = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
    if (error != 0 && error != GLOB_NOMATCH) {
      return absl::UnavailableError(absl::StrCat("cannot search for files '", pattern, "'"));
    }
    found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tessera

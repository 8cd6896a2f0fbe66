#include "runtime/kernels/io/matching_files.h"

#include <glob.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

int64_t CountComponents(absl::string_view path, absl::string_view component) {
  const std::vector<absl::string_view> components = absl::StrSplit(path, '/');
  return std::count(components.begin(), components.end(), component);
}

// Returns whether a wildcard of the pattern stands for the directory itself or for its parent.
bool HasDotDirectory(absl::string_view path, absl::string_view pattern) {
  for (const absl::string_view link : {".", ".."}) {
    if (CountComponents(path, link) > CountComponents(pattern, link)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilesThatMatch(absl::Span<const std::string> patterns) {
  std::vector<std::string> found;
  for (const std::string& pattern : patterns) {
    if (pattern.find_first_of("*?[\\") == std::string::npos) {
      // glob() finds links to nowhere as well.
      if (FileExists(pattern)) found.push_back(pattern);
      continue;
    }
    glob_t matches{};
    const absl::Cleanup release = [&matches] { ::globfree(&matches); };
    const int error = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_PERIOD, nullptr, &matches);
    if (error != 0 && error != GLOB_NOMATCH) {
      return absl::UnavailableError(absl::StrCat("cannot search for files '", pattern, "'"));
    }
    for (size_t i = 0; i < matches.gl_pathc; ++i) {
      if (!HasDotDirectory(matches.gl_pathv[i], pattern)) found.push_back(matches.gl_pathv[i]);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tessera

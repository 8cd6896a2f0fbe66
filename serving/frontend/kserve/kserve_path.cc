#include "serving/frontend/kserve/kserve_path.h"

#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"

namespace tessera::serving {
namespace {

enum class Methods { kGet, kPost, kBoth };

// The segments of a path, without the empty one before its first slash. Most paths fit without an
// allocation: each request is parsed.
using Segments = absl::InlinedVector<absl::string_view, 8>;

// A path as its segments, with '*' for the name of a model; unused ones are empty.
struct Route {
  std::array<absl::string_view, 5> path;
  absl::string_view name;
  Methods methods;
  KServeCall call;
};

// The first route that fits a path counts.
constexpr Route kRoutes[] = {
    {{"v2"}, "server_metadata", Methods::kGet, KServeCall::kServerMetadata},
    {{"v2", "health", "live"}, "live", Methods::kGet, KServeCall::kLive},
    {{"v2", "health", "ready"}, "ready", Methods::kGet, KServeCall::kReady},
    {{"v2", "logging"}, "logging", Methods::kBoth, KServeCall::kLogSettings},
    {{"v2", "trace", "setting"}, "trace_setting", Methods::kBoth, KServeCall::kTraceSettings},
    {{"v2", "repository", "index"}, "index", Methods::kPost, KServeCall::kIndex},
    {{"v2", "repository", "models", "*", "load"}, "load", Methods::kPost, KServeCall::kLoad},
    {{"v2", "repository", "models", "*", "unload"}, "unload", Methods::kPost, KServeCall::kUnload},
    {{"v2", "models", "stats"}, "stats", Methods::kGet, KServeCall::kStatistics},
    {{"v2", "models", "*"}, "metadata", Methods::kGet, KServeCall::kModelMetadata},
    {{"v2", "models", "*", "ready"}, "ready", Methods::kGet, KServeCall::kModelReady},
    {{"v2", "models", "*", "config"}, "config", Methods::kGet, KServeCall::kModelConfig},
    {{"v2", "models", "*", "stats"}, "stats", Methods::kGet, KServeCall::kStatistics},
    {{"v2", "models", "*", "infer"}, "infer", Methods::kPost, KServeCall::kInfer},
    {{"v2", "models", "*", "trace", "setting"},
     "trace_setting",
     Methods::kBoth,
     KServeCall::kTraceSettings},
};

Segments Split(absl::string_view path) {
  Segments segments;
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    if (end == path.size()) return segments;
    path.remove_prefix(end + 1);
  }
}

// Takes the segments "versions" and a number behind a model out of a path, and returns the number.
absl::string_view TakeVersion(Segments* path) {
  constexpr size_t kWord = 3;  // in {"v2", "models", M, "versions", V, ...}
  if (path->size() < kWord + 2 || (*path)[1] != "models" || (*path)[kWord] != "versions") return {};
  const absl::string_view version = (*path)[kWord + 1];
  if (version.empty() || version.find_first_not_of("0123456789") != version.npos) return {};
  path->erase(path->begin() + kWord, path->begin() + kWord + 2);
  return version;
}

bool Fits(const Segments& path, const Route& route, absl::string_view* model) {
  const size_t max_size = route.path.size();
  if (path.size() > max_size || (path.size() < max_size && !route.path[path.size()].empty())) {
    return false;
  }
  // Routes differ in their last segments above all.
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i].empty()) return false;
    if (route.path[i] == "*") {
      *model = path[i];
    } else if (route.path[i] != path[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<KServePath> ParseKServePath(absl::string_view method, absl::string_view path) {
  if (path.empty() || path[0] != '/') return std::nullopt;
  Segments segments = Split(path.substr(1));
  const absl::string_view version = TakeVersion(&segments);
  for (const Route& route : kRoutes) {
    absl::string_view model;
    if (!Fits(segments, route, &model)) continue;
    const bool has_method = (method == "GET" && route.methods != Methods::kPost) ||
                            (method == "POST" && route.methods != Methods::kGet);
    return KServePath{.call = route.call,
                      .name = route.name,
                      .model = std::string(model),
                      .version = std::string(version),
                      .has_method = has_method};
  }
  return std::nullopt;
}

}  // namespace tessera::serving

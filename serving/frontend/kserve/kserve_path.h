// Parses the paths of KServe's protocol.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

enum class KServeCall {
  kLive,
  kReady,
  kServerMetadata,
  kModelReady,
  kModelMetadata,
  kModelConfig,
  kStatistics,
  kInfer,
  kIndex,
  kLoad,
  kUnload,
  kLogSettings,
  kTraceSettings,
};

// `GET /v2/models/m/versions/3/ready` is {kModelReady, "m", "3"}.
struct KServePath {
  KServeCall call = KServeCall::kLive;
  absl::string_view name;  // of the call in logs, such as "infer"; of static lifetime
  std::string model;       // as written, because percent signs are not decoded; may be empty
  std::string version;     // decimal digits; empty if the path has none
  // Whether the call has the method that was asked with.
  bool has_method = false;
};

// Returns the call of a path without a query; nullopt for a path that the protocol does not have,
// such as one with a version that is no number.
std::optional<KServePath> ParseKServePath(absl::string_view method, absl::string_view path);

}  // namespace tessera::serving

// VersionGate: what stands between the source of versions and the manager when a model is rolled
// out step by step. The source tells every version there is on disk; the gate passes on those that
// the rollout wants in memory.
#pragma once

#include <cstdint>
#include <string>

#include "serving/core/source.h"

namespace tessera::serving {

// A target of directories and a source of directories. Versions of models without a rollout pass
// unchanged. Thread-safe.
class VersionGate : public Target<std::string>, public Source<std::string> {
 public:
  ~VersionGate() override = default;
};

}  // namespace tessera::serving

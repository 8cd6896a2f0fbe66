// VersionGate: what stands between the source of versions and the manager when a model is rolled
// out step by step. The source tells every version there is on disk; the gate passes on those that
// the rollout wants in memory.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "serving/core/servable_state.h"
#include "serving/core/source.h"

namespace tessera::serving {

// A target of directories and a source of directories. Versions of models without a rollout pass
// unchanged. Thread-safe.
class VersionGate : public Target<std::string>, public Source<std::string> {
 public:
  ~VersionGate() override = default;

  // Whether this gate chooses among the versions of a model, so that the source must tell it all
  // that there are.
  virtual bool Chooses(absl::string_view model) const = 0;

  // Tells the gate how a version that it passed on fares. Called for every version, by the event
  // bus of the manager: the call must not wait and must not call the target.
  virtual void NoteState(const ServableState& state) = 0;

  // Ends all calls of the target. None runs any more when this returns. For shutdown.
  virtual void Disconnect() = 0;
};

}  // namespace tessera::serving

// RunEnd: by which a hook ends a run before its last step.
#pragma once

#include <string>
#include <utility>

namespace tessera {

// Not thread-safe.
class RunEnd {
 public:
  // Ends the run after the current step. The run is `complete` if there is nothing to resume: it is
  // evaluated and exported. The first call counts.
  void Ask(std::string reason, bool complete) {
    if (is_asked()) return;
    reason_ = std::move(reason);
    is_complete_ = complete;
  }

  bool is_asked() const { return !reason_.empty(); }
  bool is_complete() const { return is_complete_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
  bool is_complete_ = false;
};

}  // namespace tessera

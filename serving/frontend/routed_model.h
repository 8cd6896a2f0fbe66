// RoutedModel: the version that answers a request, and how it was found.
#pragma once

#include <utility>

#include "serving/servables/servable.h"

namespace tessera::serving {

// Keeps its version loaded. Movable; empty after it was moved from.
class RoutedModel : public ModelHandle {
 public:
  enum class Origin {
    kNamed,     // the request names it by number or label, or there are no rollouts
    kDrawn,     // the router chose it for a request that names no version
    kFallback,  // it is asked what a candidate that was drawn could not answer
  };

  RoutedModel() = default;
  RoutedModel(ModelHandle handle, Origin origin)
      : ModelHandle(std::move(handle)), origin_(origin) {}

  Origin origin() const { return origin_; }

 private:
  Origin origin_ = Origin::kNamed;
};

}  // namespace tessera::serving

// RoutedModel: the version that answers a request, and how it was found.
#pragma once

#include <utility>

#include "serving/admission/model_admission.h"
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
  // `admission` has the limits of the model; null if it has none.
  RoutedModel(ModelHandle handle, Origin origin, ModelAdmission* admission)
      : ModelHandle(std::move(handle)), origin_(origin), admission_(admission) {}

  Origin origin() const { return origin_; }

  // Whether admission() must be asked before the request runs, because there are limits.
  bool must_be_admitted() const { return admission_ != nullptr && !ticket_.has_value(); }
  ModelAdmission* admission() const { return admission_; }
  // Has a value once the request was admitted; never where there are no limits.
  AdmissionTicket& ticket() { return ticket_; }
  const AdmissionTicket& ticket() const { return ticket_; }

 private:
  Origin origin_ = Origin::kNamed;
  ModelAdmission* admission_ = nullptr;
  AdmissionTicket ticket_;
};

}  // namespace tessera::serving

// TrafficRouter: the choice of the version that answers a request which names none, and what is
// told of the answers. ServedModels and RequestHandler know this interface alone; serving/rollout
// implements it.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/servable_id.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Returns the value that a client gave under a name in its request's metadata: an entry of gRPC's
// metadata, or an HTTP header, whose names are matched without regard to case. nullopt if it gave
// none.
using RoutingKeys = absl::FunctionRef<std::optional<absl::string_view>(absl::string_view name)>;

// The labels that follow a rollout.
inline constexpr absl::string_view kStableLabel = "stable";
inline constexpr absl::string_view kCanaryLabel = "canary";

// Thread-safe. The calls are made for each request and take no lock.
class TrafficRouter {
 public:
  virtual ~TrafficRouter() = default;

  // Returns the version that answers a request to `model` which names neither a version nor a
  // label. nullopt: the highest that is available, as for all models without a rollout. `keys` is
  // asked only if the model's rollout is sticky. The version may have gone by the time it is
  // acquired; the caller then takes the highest that is available.
  virtual std::optional<int64_t> Choose(absl::string_view model, RoutingKeys keys) const = 0;

  // Returns the version that is asked what `failed` could not answer, a version that Choose()
  // returned for a request; nullopt: none, so that the client gets the error.
  virtual std::optional<int64_t> FallbackFor(const ServableId& failed) const = 0;

  // Returns the version of a label that follows the rollout, kStableLabel or kCanaryLabel; nullopt
  // for every other label, and for models without a rollout. kCanaryLabel is the stable version
  // while no candidate is loaded.
  virtual std::optional<int64_t> VersionOfLabel(absl::string_view model,
                                                absl::string_view label) const = 0;

  // The part of a version's answers that Observe() is to be told, so that the caller takes that
  // trouble only where somebody looks at them.
  enum class Interest {
    kNone,              // nothing; so for models without a rollout
    kAnswers,           // how requests were answered
    kAnswersAndInputs,  // their inputs as well, because some are mirrored
  };
  virtual Interest InterestIn(const ServableId& id) const = 0;

  // Tells how a version answered a request, after its run and before the answer is written.
  // `outputs` is empty unless `status` is OK. A request to the stable version may be copied for the
  // candidate here. `inputs` of Predict are its tensors in the order of `input_names`; those of
  // Classify, Regress and MultiInference are the one tensor of examples. They are empty if the
  // request failed before they were decoded, or if nobody asked for them.
  struct Answer {
    const ServableId& id;
    RequestMethod method = RequestMethod::kPredict;
    absl::string_view signature_name = {};       // empty for MultiInference
    absl::Span<const InferenceTask> tasks = {};  // of MultiInference alone
    absl::Span<const absl::string_view> input_names = {};
    absl::Span<const Tensor> inputs = {};
    absl::Span<const absl::string_view> output_filter = {};
    const absl::Status& status;
    absl::Duration latency;
    absl::Span<const NamedOutput> outputs = {};
  };
  virtual void Observe(const Answer& answer) = 0;
};

}  // namespace tessera::serving

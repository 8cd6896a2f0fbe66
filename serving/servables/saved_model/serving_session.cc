#include "serving/servables/saved_model/serving_session.h"

namespace tessera::serving {

SessionOptions ServingSessionOptions() {
  SessionOptions options;
  // Nothing runs but the model's signatures, so that what none of them writes is constant.
  options.freeze_variables = true;
  return options;
}

}  // namespace tessera::serving

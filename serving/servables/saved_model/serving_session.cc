#include "serving/servables/saved_model/serving_session.h"

namespace tessera::serving {

SessionOptions ServingSessionOptions() {
  SessionOptions options;
  // Only the signatures of the model run, so a variable that none of them writes is constant.
  options.freeze_variables = true;
  return options;
}

}  // namespace tessera::serving

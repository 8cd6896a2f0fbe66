// The entry point of the container image.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// The name of the entry script in TensorFlow Serving's image. The program is the entry point under
// this name, so that command lines which spell it out go on working in an image without a shell.
inline constexpr char kEntrypointName[] = "tf_serving_entrypoint.sh";

// Serves as that script does: gRPC on port 8500, REST on port 8501, and the one model $MODEL_NAME
// below $MODEL_BASE_PATH, which are `model` and `/models` where the environment says nothing else.
// All of these are defaults that a file of --config and the flags in `args` override. Returns the
// exit code of ServeCommand().
int EntrypointCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving

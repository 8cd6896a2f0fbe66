#include "serving/commands/entrypoint_command.h"

#include <cstdlib>
#include <utility>

#include "runtime/base/file_system.h"
#include "serving/commands/serve_command.h"
#include "serving/server/server_options.h"

namespace tessera::serving {
namespace {

std::string EnvironmentOr(const char* name, const char* fallback) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

}  // namespace

int EntrypointCommand(absl::Span<const std::string> args) {
  ServerOptions defaults;
  defaults.port = 8500;
  defaults.rest_api_port = 8501;
  defaults.model_name = EnvironmentOr("MODEL_NAME", "model");
  defaults.model_base_path =
      JoinPath(EnvironmentOr("MODEL_BASE_PATH", "/models"), defaults.model_name);
  return ServeCommand(kEntrypointName, args, std::move(defaults));
}

}  // namespace tessera::serving

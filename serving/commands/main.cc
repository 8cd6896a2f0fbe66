// tessera: one binary whose first argument is a command.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "serving/commands/health_command.h"
#include "serving/commands/inspect_command.h"
#include "serving/commands/rollout_command.h"
#include "serving/commands/run_command.h"
#include "serving/commands/serve_command.h"
#include "serving/server/version.h"

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera COMMAND [ARGUMENTS]\n"
    "\n"
    "  serve     serve models over gRPC and REST; takes the flags of tensorflow_model_server\n"
    "  health    ask a server whether it is ready\n"
    "  inspect   show what is in a SavedModel, a GraphDef or a checkpoint\n"
    "  run       run one signature of a SavedModel once\n"
    "  rollout   show and steer how new versions of models get traffic\n"
    "\n"
    "`tessera COMMAND --help` tells more. Under the name tensorflow_model_server the program\n"
    "serves without a command.\n";

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

int Main(int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "tessera";
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (BaseName(program) == "tensorflow_model_server") return ServeCommand(program, args);
  const std::string command = args.empty() ? "" : args[0];
  if (!args.empty()) args.erase(args.begin());
  if (command == "serve") return ServeCommand(program + " serve", args);
  if (command == "health") return HealthCommand(args);
  if (command == "inspect") return InspectCommand(args);
  if (command == "rollout") return RolloutCommand(args);
  if (command == "run") return RunCommand(args);
  if (command == "--version") {
    std::printf("tessera %s\n", kVersion);
    return 0;
  }
  if (command == "--help" || command == "help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (!command.empty()) std::fprintf(stderr, "tessera: unknown command '%s'\n", command.c_str());
  std::fputs(kHelp, stderr);
  return 2;
}

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) {
  // Debian builds absl with deadlock detection, which enters every lock that is taken, those of
  // gRPC included, into a graph under one spin lock. It would be a third of the cost of a small
  // request.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return tessera::serving::Main(argc, argv);
}

// tessera: one binary whose first argument is a command.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/nearest_name.h"
#include "serving/commands/bench_command.h"
#include "serving/commands/client_command.h"
#include "serving/commands/command.h"
#include "serving/commands/command_help.h"
#include "serving/commands/completion_command.h"
#include "serving/commands/entrypoint_command.h"
#include "serving/commands/health_command.h"
#include "serving/commands/inspect_command.h"
#include "serving/commands/man_command.h"
#include "serving/commands/plot_command.h"
#include "serving/commands/profile_command.h"
#include "serving/commands/rollout_command.h"
#include "serving/commands/run_command.h"
#include "serving/commands/serve_command.h"
#include "serving/commands/train_command.h"
#include "serving/server/version.h"

namespace tessera::serving {
namespace {

// All commands, in the order in which help lists them.
std::vector<Command> Commands() {
  return {
      ServeCommand(),
      InspectCommand(),
      RunCommand(),
      ClientCommand(),
      BenchCommand(),
      HealthCommand(),
      RolloutCommand(),
      ProfileCommand(),
      TrainCommand(),
      PlotCommand(),
      CompletionCommand(Commands),
      ManCommand(Commands),
  };
}

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

int UnknownCommand(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  std::fprintf(stderr, "tessera: unknown command '%s'%s\n%s", name.c_str(),
               DidYouMean(name, names).c_str(), ProgramHelp(commands).c_str());
  return 2;
}

int RunCommandOf(int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "tessera";
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (BaseName(program) == "tensorflow_model_server") return ServeCommand().main(program, args);
  if (BaseName(program) == kEntrypointName) return EntrypointCommand(args);
  std::vector<Command> commands = Commands();
  if (args.empty()) {
    std::fputs(ProgramHelp(commands).c_str(), stderr);
    return 2;
  }
  if (args[0] == "--version") {
    std::printf("tessera %s\n", kVersion);
    return 0;
  }
  const bool wants_help = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  if (wants_help && args.size() == 1) {
    std::fputs(ProgramHelp(commands).c_str(), stdout);
    return 0;
  }
  const std::string name = args[wants_help ? 1 : 0];
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& each) { return each.name == name; });
  if (command == commands.end()) return UnknownCommand(name, commands);
  if (wants_help) return PrintHelp(*command, args.size() > 2 ? args[2] : "");
  return ExecuteCommand(*command, absl::MakeConstSpan(args).subspan(1));
}

// Whether the reader of the standard output, such as `head`, has ended.
bool IsReaderGone() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

// Gives the descriptors 0 to 2 to something where whoever started the program closed them, so that
// no file that is opened later gets what is printed. Opened the wrong way round, they fail to be
// used as closed ones do.
void KeepStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free one, which is this.
    (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// What a command prints is its result: a full disk must not look like success. A reader that ends
// has what it wants.
int Main(int argc, char** argv) {
  KeepStandardDescriptors();
  const int exit_code = RunCommandOf(argc, argv);
  errno = 0;
  if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || IsReaderGone()) return exit_code;
  std::fprintf(stderr, "tessera: cannot write the standard output%s%s\n", errno == 0 ? "" : ": ",
               errno == 0 ? "" : std::strerror(errno));
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace
}  // namespace tessera::serving

// Debian builds absl with deadlock detection, which enters every lock that is taken, those of gRPC
// included, into a graph under one spin lock. It would be a third of the cost of a small request.
// It ends before the other constructors run, because ops and kernels are registered under locks.
[[gnu::constructor(101)]] static void EndDeadlockDetection() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

int main(int argc, char** argv) { return tessera::serving::Main(argc, argv); }

#include "serving/commands/rollout_command.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "serving/commands/rollout_text.h"
#include "serving/frontend/admin/bearer_tokens.h"
#include "serving/frontend/json/json_message.h"
#include "tessera/admin.grpc.pb.h"

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera rollout ACTION [MODEL] [OPTIONS]\n"
    "\n"
    "Shows and steers how new versions of models get traffic, on a server with --admin_port.\n"
    "\n"
    "  status [MODEL]      where each rollout stands; of one model, with what was measured\n"
    "  promote MODEL       gives the candidate all traffic, whatever was measured\n"
    "  rollback MODEL      rejects the candidate; without one, goes back to the version before\n"
    "  pause MODEL         keeps the candidate's share as it is, and judges nothing\n"
    "  resume MODEL        goes on after pause\n"
    "\n"
    "  --version=N         acts only if version N is the candidate\n"
    "  --watch             status: goes on with a line for each event\n"
    "  --json              JSON, and with --watch an event on each line\n"
    "  --admin=ADDRESS     HOST:PORT of the admin address (127.0.0.1:8502)\n"
    "  --token_file=FILE   has the server's token in its first line, as --admin_token_file has\n"
    "  --timeout=SECONDS   for an answer (10)\n"
    "  --help              this text\n"
    "\n"
    "The exit code is 0; 1 if the server cannot be reached or refuses; 2 for wrong arguments.\n";

using Stub = tessera::AdminService::Stub;
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const RolloutRequest&, RolloutStatus*);

struct Arguments {
  std::string action;
  RolloutRequest request;
  std::string address = "127.0.0.1:8502";
  std::string token_file;
  absl::Duration timeout = absl::Seconds(10);
  bool watch = false;
  bool json = false;
  bool help = false;
};

// Returns null for an action that does not exist. "status" is GetRollout.
Method MethodOf(absl::string_view action) {
  if (action == "status") return &Stub::GetRollout;
  if (action == "promote") return &Stub::Promote;
  if (action == "rollback") return &Stub::Rollback;
  if (action == "pause") return &Stub::Pause;
  if (action == "resume") return &Stub::Resume;
  return nullptr;
}

absl::Status CheckArguments(const Arguments& arguments) {
  if (arguments.action.empty()) return absl::InvalidArgumentError("no action is given");
  const bool is_status = arguments.action == "status";
  if (MethodOf(arguments.action) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown action '", arguments.action,
                     "': there are status, promote, rollback, pause and resume"));
  }
  if (!is_status && arguments.request.model().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(arguments.action, " needs a model"));
  }
  if (!is_status && arguments.watch) {
    return absl::InvalidArgumentError("--watch belongs to status");
  }
  if (is_status && arguments.request.version() != 0) {
    return absl::InvalidArgumentError("--version belongs to the actions that change something");
  }
  return absl::OkStatus();
}

absl::StatusOr<Arguments> Parse(absl::Span<const std::string> args) {
  Arguments result;
  for (absl::string_view arg : args) {
    const absl::string_view whole = arg;
    int64_t version = 0;
    double seconds = 0;
    if (arg == "--help") {
      result.help = true;
      return result;
    }
    if (arg == "--json") {
      result.json = true;
    } else if (arg == "--watch") {
      result.watch = true;
    } else if (absl::ConsumePrefix(&arg, "--admin=") && !arg.empty()) {
      result.address = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--token_file=") && !arg.empty()) {
      result.token_file = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--version=") && absl::SimpleAtoi(arg, &version) &&
               version > 0) {
      result.request.set_version(version);
    } else if (absl::ConsumePrefix(&arg, "--timeout=") && absl::SimpleAtod(arg, &seconds) &&
               seconds > 0) {
      result.timeout = absl::Seconds(seconds);
    } else if (!absl::StartsWith(whole, "--") && result.action.empty()) {
      result.action = std::string(whole);
    } else if (!absl::StartsWith(whole, "--") && result.request.model().empty()) {
      result.request.set_model(std::string(whole));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("wrong argument '", whole, "'"));
    }
  }
  RETURN_IF_ERROR(CheckArguments(result));
  return result;
}

// Returns the error with its remedy, if there is one that the server cannot know of.
absl::Status Readable(const grpc::Status& status, const Arguments& arguments) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    absl::StrAppend(&message, "\nasked ", arguments.address,
                    ": is a server there, started with --admin_port? --admin=HOST:PORT names it");
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    absl::StrAppend(&message, "\nthe server at ", arguments.address, " did not answer in ",
                    absl::FormatDuration(arguments.timeout));
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    absl::StrAppend(&message, "\nthe server at ", arguments.address,
                    " has no admin service: --admin takes its --admin_port, not --port");
  } else if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    absl::StrAppend(&message, "\n",
                    arguments.token_file.empty()
                        ? "give --token_file=FILE with a token in its first line"
                        : absl::StrCat("the first token in ", arguments.token_file,
                                       " must be one of those in the server's --admin_token_file"));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StripLeadingAsciiWhitespace(message));
}

// One invocation: the calls, and what is printed of their answers.
class Command {
 public:
  Command(const Arguments& arguments, std::string authorization)
      : arguments_(arguments), authorization_(std::move(authorization)) {
    grpc::ChannelArguments channel;
    channel.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = tessera::AdminService::NewStub(
        grpc::CreateCustomChannel(arguments_.address, grpc::InsecureChannelCredentials(), channel));
  }

  absl::Status Run() {
    if (arguments_.watch) return Watch();
    return ShowStatus();
  }

 private:
  // Prepares a context for a call that may take as long as it wants.
  void Authorize(grpc::ClientContext* context) const {
    if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
  }
  void Limit(grpc::ClientContext* context) const {
    context->set_deadline(absl::ToChronoTime(absl::Now() + arguments_.timeout));
  }

  // Acts if something is to be done, and prints where the rollouts stand.
  absl::Status ShowStatus() const {
    grpc::ClientContext context;
    Authorize(&context);
    Limit(&context);
    if (arguments_.request.model().empty()) {
      ListRolloutsResponse all;
      RETURN_IF_ERROR(Readable(stub_->ListRollouts(&context, {}, &all), arguments_));
      if (arguments_.json) return PrintJson(all);
      Print(all.rollouts_size() == 0
                ? "no model has a rollout: give one the block 'rollout' in its configuration\n"
                : RolloutTable(
                      std::vector<RolloutStatus>(all.rollouts().begin(), all.rollouts().end())));
      return absl::OkStatus();
    }
    RolloutStatus status;
    const Method method = MethodOf(arguments_.action);
    RETURN_IF_ERROR(
        Readable((stub_.get()->*method)(&context, arguments_.request, &status), arguments_));
    if (arguments_.json) return PrintJson(status);
    Print(RolloutDetails(status));
    return absl::OkStatus();
  }

  // Prints where the rollouts stand, and then events until the server ends.
  absl::Status Watch() const {
    grpc::ClientContext context;
    Authorize(&context);
    WatchEventsRequest request;
    request.set_model(arguments_.request.model());
    const auto reader = stub_->WatchEvents(&context, request);
    // Before the status is asked for, so that no event is between both.
    reader->WaitForInitialMetadata();
    absl::Status status = ShowStatus();
    RolloutEvent event;
    while (status.ok() && reader->Read(&event)) {
      if (arguments_.json) {
        status = PrintJson(event);
      } else {
        Print(absl::StrCat(RolloutEventLine(event, absl::LocalTimeZone()), "\n"));
      }
    }
    context.TryCancel();
    const grpc::Status end = reader->Finish();
    return status.ok() ? Readable(end, arguments_) : status;
  }

  absl::Status PrintJson(const google::protobuf::Message& message) const {
    ASSIGN_OR_RETURN(const std::string json, MessageJson(message, arguments_.watch));
    Print(arguments_.watch ? json + "\n" : json);
    return absl::OkStatus();
  }
  static void Print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  const std::string authorization_;
  std::unique_ptr<Stub> stub_;
};

absl::Status Run(const Arguments& arguments) {
  std::string authorization;
  if (!arguments.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::vector<BearerToken> tokens,
                     BearerTokens(arguments.token_file).Read());
    authorization = absl::StrCat("Bearer ", tokens.front().token);
  }
  return Command(arguments, std::move(authorization)).Run();
}

}  // namespace

int RolloutCommand(absl::Span<const std::string> args) {
  const absl::StatusOr<Arguments> arguments = Parse(args);
  if (!arguments.ok()) {
    std::fprintf(stderr, "tessera rollout: %s\n%s",
                 std::string(arguments.status().message()).c_str(), kHelp);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const absl::Status status = Run(*arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tessera rollout: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace tessera::serving

#include "serving/commands/rollout_command.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "serving/commands/connection_flags.h"
#include "serving/commands/rollout_text.h"
#include "serving/frontend/json/json_message.h"
#include "tessera/admin.grpc.pb.h"

namespace tessera::serving {
namespace {

using Stub = tessera::AdminService::Stub;
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const RolloutRequest&, RolloutStatus*);

struct Options {
  int64_t version = 0;
  std::string address = "127.0.0.1:8502";
  ConnectionFlags connection;
  float timeout_seconds = 10;
  bool watch = false;
  bool json = false;
};

// One invocation as it was asked for.
struct Arguments {
  std::string action;
  RolloutRequest request;
  std::string address;
  ConnectionFlags connection;
  absl::Duration timeout;
  bool watch = false;
  bool json = false;
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

absl::StatusOr<Arguments> ArgumentsOf(absl::Span<const std::string> words, const Options& options) {
  Arguments result{.action = words[0],
                   .address = options.address,
                   .connection = options.connection,
                   .timeout = absl::Seconds(options.timeout_seconds),
                   .watch = options.watch,
                   .json = options.json};
  const bool is_status = result.action == "status";
  if (words.size() > 1) result.request.set_model(words[1]);
  if (!is_status && words.size() == 1) {
    return UsageError(absl::StrCat(result.action, " needs a model"));
  }
  if (!is_status && options.watch) return UsageError("--watch belongs to status");
  if (is_status && options.version != 0) {
    return UsageError("--version belongs to the actions that change something");
  }
  if (options.version < 0) return UsageError("--version must be more than 0");
  if (!(options.timeout_seconds > 0)) return UsageError("--timeout must be more than 0");
  result.request.set_version(options.version);
  return result;
}

// Returns the error with its remedy, if there is one that the server cannot know of.
absl::Status Readable(const grpc::Status& status, const Arguments& arguments) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    absl::StrAppend(&message, "\nasked ", arguments.address,
                    ": is a server there, started with --admin_port? --admin=HOST:PORT names it",
                    arguments.connection.ca.empty() ? "; with --admin_ssl it needs --ca=FILE"
                                                    : "; --ca needs --admin_ssl there");
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    absl::StrAppend(&message, "\nthe server at ", arguments.address, " did not answer in ",
                    absl::FormatDuration(arguments.timeout));
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    absl::StrAppend(&message, "\nthe server at ", arguments.address,
                    " has no admin service: --admin takes its --admin_port, not --port");
  } else if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    absl::StrAppend(&message, "\n",
                    arguments.connection.token_file.empty()
                        ? "give --token_file=FILE with a token in its first line"
                        : absl::StrCat("the first token in ", arguments.connection.token_file,
                                       " must be one of those in the server's --admin_token_file"));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StripLeadingAsciiWhitespace(message));
}

// One invocation: the calls, and what is printed of their answers.
class RolloutCall {
 public:
  RolloutCall(const Arguments& arguments, ConnectionSecurity security)
      : arguments_(arguments), authorization_(std::move(security.authorization)) {
    grpc::ChannelArguments channel;
    channel.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    const auto credentials = ChannelCredentialsOf(security.tls, &channel);
    stub_ = tessera::AdminService::NewStub(
        grpc::CreateCustomChannel(arguments_.address, credentials, channel));
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
    // A cancelled call loses the status with which the server ended it.
    if (!status.ok()) context.TryCancel();
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
  RETURN_IF_ERROR(CheckPortOf(arguments.address));
  ASSIGN_OR_RETURN(ConnectionSecurity security, arguments.connection.Read());
  return RolloutCall(arguments, std::move(security)).Run();
}

}  // namespace

Command RolloutCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "rollout",
      .summary = "show and steer how new versions of models get traffic",
      .arguments = "status|promote|rollback|pause|resume [MODEL]",
      .description =
          "Shows and steers how new versions of models get traffic, on a server with "
          "--admin_port.\n\n"
          "  status [MODEL]      where each rollout stands; of one model, with what was measured\n"
          "  promote MODEL       gives the candidate all traffic, whatever was measured\n"
          "  rollback MODEL      rejects the candidate; without one, goes back to the version "
          "before\n"
          "  pause MODEL         keeps the candidate's share as it is, and judges nothing\n"
          "  resume MODEL        goes on after pause\n\n"
          "The exit code is 0; 1 if the server cannot be reached or refuses; 2 for wrong "
          "arguments.",
      .examples = {{"tessera rollout status resnet", "Where the rollout of resnet stands."},
                   {"tessera rollout rollback resnet", "Takes the candidate back."}},
  };
  command.flags.Add("version", &options->version, "acts only if this version is the candidate",
                    "N");
  command.flags.Add("watch", &options->watch, "status: goes on with a line for each event");
  command.flags.Add("json", &options->json, "JSON, and with --watch an event on each line");
  command.flags.Add("admin", &options->address, "the admin address", "HOST:PORT");
  options->connection.AddTo(&command.flags);
  command.flags.Add("timeout", &options->timeout_seconds, "for an answer", "SECONDS");
  command.run = [options](absl::Span<const std::string> words) -> absl::Status {
    ASSIGN_OR_RETURN(const Arguments arguments, ArgumentsOf(words, *options));
    return Run(arguments);
  };
  return command;
}

}  // namespace tessera::serving

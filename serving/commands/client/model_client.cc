#include "serving/commands/client/model_client.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "runtime/base/status.h"
#include "serving/commands/command.h"

namespace tessera::serving {
namespace {

namespace wire = ::tensorflow::serving;

absl::StatusOr<std::pair<std::string, std::string>> ParseHeader(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos || colon == 0) {
    return UsageError(absl::StrCat("header '", text, "' is not NAME:VALUE"));
  }
  const std::string name = absl::AsciiStrToLower(text.substr(0, colon));
  const std::string value(absl::StripAsciiWhitespace(text.substr(colon + 1)));
  const bool fits = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!fits || !std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
    return UsageError(absl::StrCat("header '", absl::CHexEscape(text),
                                   "' has a character that no header may have"));
  }
  return std::make_pair(name, value);
}

// Errors: UsageError() for an address that the protocol cannot have.
absl::Status CheckServer(bool rest, const std::string& server) {
  if (absl::StartsWith(server, "unix:")) {
    if (!rest) return absl::OkStatus();
    return UsageError(absl::StrCat("REST has no Unix sockets: '", server, "'"));
  }
  if (server.find(':') == std::string::npos || server.find('/') != std::string::npos) {
    return UsageError(
        absl::StrCat("server '", server, "' is not HOST:PORT", rest ? "" : " or unix:PATH"));
  }
  return CheckPortOf(server);
}

absl::Status FillSpec(const ServerFlags& flags, const std::string& model, wire::ModelSpec* spec) {
  spec->set_name(model);
  spec->set_signature_name(flags.signature);
  if (!flags.version.empty() && !flags.label.empty()) {
    return UsageError("--version and --label exclude each other");
  }
  if (!flags.version.empty()) {
    int64_t version = 0;
    if (!absl::SimpleAtoi(flags.version, &version) || version < 0) {
      return UsageError(absl::StrCat("version '", flags.version, "' is no number"));
    }
    spec->mutable_version()->set_value(version);
  }
  if (!flags.label.empty()) spec->set_version_label(flags.label);
  return absl::OkStatus();
}

std::string StatesOf(const wire::GetModelStatusResponse& response) {
  std::map<int64_t, std::string> states;
  for (const auto& version : response.model_version_status()) {
    states[version.version()] = wire::ModelVersionStatus::State_Name(version.state());
  }
  return absl::StrJoin(states, ", ", absl::PairFormatter(" "));
}

}  // namespace

void ServerFlags::AddTo(FlagParser* flags) {
  flags->Add("server", &server,
             "address of the server, by gRPC also unix:PATH (default: 127.0.0.1:8500, with --rest "
             "127.0.0.1:8501)",
             "HOST:PORT");
  flags->Add("rest", &rest, "ask by REST instead of gRPC");
  flags->Add("timeout", &timeout, "seconds after which a request has failed");
  flags->Add("header", &headers, "HTTP header or gRPC metadata to send along", "NAME:VALUE");
  connection.AddTo(flags);
  flags->Add("version", &version, "version to ask; without it, the newest one that is available",
             "N");
  flags->Add("label", &label, "label of the version to ask, such as stable", "NAME");
  flags->Add("signature", &signature, "signature to ask", "NAME");
}

absl::StatusOr<ModelClient> ModelClient::Create(const ServerFlags& flags,
                                                const std::string& model) {
  ModelClient client;
  client.rest_ = flags.rest;
  client.server_ = flags.server;
  if (client.server_.empty()) client.server_ = flags.rest ? "127.0.0.1:8501" : "127.0.0.1:8500";
  RETURN_IF_ERROR(CheckServer(flags.rest, client.server_));
  if (!(flags.timeout > 0)) return UsageError("--timeout must be more than 0 seconds");
  client.timeout_ = absl::Seconds(flags.timeout);
  for (const std::string& header : flags.headers) {
    ASSIGN_OR_RETURN(client.headers_.emplace_back(), ParseHeader(header));
  }
  ASSIGN_OR_RETURN(ConnectionSecurity security, flags.connection.Read());
  client.tls_ = std::move(security.tls);
  if (!security.authorization.empty()) {
    client.headers_.emplace_back("authorization", std::move(security.authorization));
  }
  RETURN_IF_ERROR(FillSpec(flags, model, &client.spec_));
  client.codec_ = flags.rest ? MakeRestCodec(client.server_) : MakeGrpcCodec(client.server_);
  return client;
}

RequestTarget::Options ModelClient::TargetOptions(const std::string& url) const {
  return {.url = url, .headers = headers_, .tls = tls_, .timeout = timeout_};
}

absl::StatusOr<std::string> ModelClient::AskOnce(const EncodedRequest& request) const {
  RequestTarget::Options options = TargetOptions(request.url);
  options.channels = 1;
  ASSIGN_OR_RETURN(const auto target, MakeRequestTarget(options, {request.bytes}));
  absl::StatusOr<std::string> result;
  absl::Notification done;
  target->Send(0, [&](const absl::Status& status, absl::string_view answer) {
    if (status.ok()) {
      result = std::string(answer);
    } else {
      result = status;
    }
    done.Notify();
  });
  done.WaitForNotification();
  return result;
}

absl::StatusOr<std::string> ModelClient::Ask(const EncodedRequest& request) const {
  absl::StatusOr<std::string> answer = AskOnce(request);
  if (!answer.ok()) return Explain(answer.status());
  return answer;
}

absl::Status ModelClient::Explain(const absl::Status& status) const {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          absl::StrCat("no answer from ", server_, " by ", rest_ ? "REST" : "gRPC", " (", message,
                       "). Is a server there (`tessera serve`), is --server its ",
                       rest_ ? "REST" : "gRPC", " port, ", rest_ ? "" : "does it need --rest, ",
                       tls_ ? "is --ca its authority?" : "or does it speak TLS (--ca=FILE)?"));
    case absl::StatusCode::kUnauthenticated:
      return absl::UnauthenticatedError(
          absl::StrCat(message, " (--token_file=FILE names a file with a token)"));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat(
          message, " (after ", absl::FormatDuration(timeout_), "; --timeout=SECONDS allows more)"));
    case absl::StatusCode::kNotFound: {
      wire::ModelSpec any_version;
      any_version.set_name(spec_.name());
      const absl::StatusOr<std::string> answer = AskOnce(codec_->Status(any_version));
      if (!answer.ok()) {
        return absl::NotFoundError(absl::StrCat("the server at ", server_, " has no model '",
                                                spec_.name(), "' (", message, ")"));
      }
      const auto states = codec_->DecodeStatus(*answer);
      if (!states.ok()) return status;
      return absl::NotFoundError(
          absl::StrCat(message, " (versions of '", spec_.name(), "': ", StatesOf(*states), ")"));
    }
    default:
      return status;
  }
}

absl::StatusOr<ModelMetadata> ModelClient::Metadata() const {
  ASSIGN_OR_RETURN(const std::string answer, Ask(codec_->Metadata(spec_)));
  return codec_->DecodeMetadata(answer);
}

absl::StatusOr<wire::GetModelStatusResponse> ModelClient::Status() const {
  ASSIGN_OR_RETURN(const std::string answer, Ask(codec_->Status(spec_)));
  return codec_->DecodeStatus(answer);
}

absl::StatusOr<RemoteSignature> ModelClient::Signature() const {
  ASSIGN_OR_RETURN(ModelMetadata metadata, Metadata());
  const auto found = metadata.signatures.find(spec_.signature_name());
  if (found != metadata.signatures.end()) return std::move(found->second);
  std::vector<std::string> names;
  for (const auto& [name, signature] : metadata.signatures) names.push_back(name);
  return absl::NotFoundError(absl::StrCat(Description(), " has no signature '",
                                          spec_.signature_name(),
                                          "' (there are: ", absl::StrJoin(names, ", "), ")"));
}

absl::StatusOr<EncodedRequest> ModelClient::EncodePredict(
    const std::map<std::string, Tensor>& inputs) const {
  return codec_->Predict({.spec = spec_, .inputs = inputs});
}

absl::StatusOr<ModelCodec::Outputs> ModelClient::Predict(
    const std::map<std::string, Tensor>& inputs, const RemoteSignature& signature) const {
  ASSIGN_OR_RETURN(const EncodedRequest request, EncodePredict(inputs));
  ASSIGN_OR_RETURN(const std::string answer, Ask(request));
  return codec_->DecodePredict(answer, signature);
}

std::string ModelClient::Description() const {
  return absl::StrCat("model '", spec_.name(), "' at ", server_);
}

}  // namespace tessera::serving

#include "serving/commands/load/grpc_target.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace tessera::serving {
namespace {

class GrpcTarget : public RequestTarget {
 public:
  GrpcTarget(const std::string& address, const std::string& method, const Options& options,
             const std::vector<std::string>& requests)
      : method_(method),
        headers_(options.headers),
        timeout_(options.timeout),
        wants_answers_(options.wants_answers) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    // A proxy that the environment names would be measured as if it were the server.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Without this, channels to one address share one connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = ChannelCredentialsOf(options.tls, &arguments);
    for (int i = 0; i < options.channels; ++i) {
      stubs_.push_back(std::make_unique<grpc::GenericStub>(
          grpc::CreateCustomChannel(address, credentials, arguments)));
    }
    for (const std::string& request : requests) {
      const grpc::Slice slice(request);
      requests_.emplace_back(&slice, 1);
    }
  }

  // A channel's threads must not be the ones that destroy it: waits until they have let go of all
  // calls, and with them of the channels.
  ~GrpcTarget() override {
    absl::MutexLock lock(&mu_);
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return calls_ == 0; };
    mu_.Await(absl::Condition(&none));
  }

  void Send(size_t request, OnReply on_reply) override {
    {
      absl::MutexLock lock(&mu_);
      ++calls_;
    }
    auto* call = new Call;
    call->on_reply = std::move(on_reply);
    call->context.set_deadline(std::chrono::system_clock::now() +
                               absl::ToChronoNanoseconds(timeout_));
    for (const auto& [name, value] : headers_) call->context.AddMetadata(name, value);
    grpc::GenericStub& stub = *stubs_[turn_.fetch_add(1) % stubs_.size()];
    stub.UnaryCall(&call->context, method_, {}, &requests_[request], &call->response,
                   [this, call](const grpc::Status& status) {
                     Finish(*call, status);
                     delete call;
                     absl::MutexLock lock(&mu_);
                     --calls_;
                   });
  }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    OnReply on_reply;
  };

  void Finish(const Call& call, const grpc::Status& status) const {
    if (!status.ok()) {
      return call.on_reply(
          absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
          {});
    }
    if (!wants_answers_) return call.on_reply(absl::OkStatus(), {});
    grpc::Slice bytes;
    if (!call.response.DumpToSingleSlice(&bytes).ok()) {
      return call.on_reply(absl::DataLossError("the answer cannot be decompressed"), {});
    }
    call.on_reply(absl::OkStatus(), {reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
  }

  const std::string method_;
  const std::vector<std::pair<std::string, std::string>> headers_;
  const absl::Duration timeout_;
  const bool wants_answers_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<grpc::ByteBuffer> requests_;
  std::atomic<size_t> turn_{0};
  absl::Mutex mu_;
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::unique_ptr<RequestTarget> MakeGrpcTarget(const std::string& address, const std::string& method,
                                              const RequestTarget::Options& options,
                                              const std::vector<std::string>& requests) {
  return std::make_unique<GrpcTarget>(address, method, options, requests);
}

}  // namespace tessera::serving

// SignatureRuns: one signature of a loaded model, and its compiled runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/session/saved_model.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/saved_model/append_only_list.h"
#include "serving/servables/saved_model/request_samples.h"

namespace tessera::serving {

// Compiles feeds and fetches into something that runs.
using MakeRun =
    std::function<absl::StatusOr<std::shared_ptr<const Callable>>(const RunSignature& signature)>;

// Runs `callable` within the call's limits. A deadline that has passed or passes meanwhile is
// DEADLINE_EXCEEDED "Timed out waiting for notification", the text clients know.
absl::Status RunCallable(const Callable& callable, const CallOptions& options,
                         absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches);

// A signature laid out for requests: inputs and outputs by position, and one compiled run for each
// set of outputs that was asked for. Positions are those of the aliases in byte order.
//
// Thread-safe; a request whose run is compiled already takes no lock.
class SignatureRuns {
 public:
  struct Input {
    absl::string_view alias;
    const SignatureTensor* tensor;
    const Tensor* default_value;  // null: the request must have this input
  };
  struct Output {
    absl::string_view alias;
    const SignatureTensor* tensor;
  };
  // Positions of outputs, ascending.
  using Positions = absl::InlinedVector<int, 8>;

  // Sets of outputs that are compiled for; requests for further ones run for all outputs.
  static constexpr int kMaxOutputSets = 64;

  // Name and signature must outlive this.
  SignatureRuns(absl::string_view name, const Signature& signature, MakeRun make_run);

  absl::string_view name() const { return name_; }
  const Signature& signature() const { return signature_; }
  absl::Span<const Input> inputs() const { return inputs_; }
  absl::Span<const Output> outputs() const { return outputs_; }

  // Feeds all inputs, in order of position, and gives the outputs at `positions`, which are
  // ascending and distinct. Errors: those of compiling and of the run.
  absl::Status Run(const Positions& positions, const CallOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches);

  // Requests that were run, as far as they are kept.
  std::vector<SampleRequest> SampleRequests() const;

  // Smoothed time of recent runs; infinite before the first one ended.
  absl::Duration TypicalRunTime() const;

 private:
  struct Prepared {
    Positions positions;
    std::shared_ptr<const Callable> callable;
  };

  absl::StatusOr<const Prepared*> Prepare(const Positions& positions);
  void RecordRunTime(absl::Duration time);

  const absl::string_view name_;
  const Signature& signature_;
  const MakeRun make_run_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  absl::Mutex compile_mu_;
  AppendOnlyList<Prepared> prepared_;  // added to under compile_mu_
  std::atomic<int64_t> typical_ns_{-1};
  RequestSamples samples_;
};

}  // namespace tessera::serving

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
#include "serving/batching/run_wrapper.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/saved_model/append_only_list.h"
#include "serving/servables/saved_model/request_samples.h"

namespace tessera::serving {

// Compiles feeds and fetches, whose rows the signatures declare so, into a callable.
using MakeRun = std::function<absl::StatusOr<std::shared_ptr<const Callable>>(
    const RunSignature& signature, RunRows rows)>;

// Returns whether a tensor of a signature has a fixed number of rows.
RunRows RowsOf(const SignatureTensor& tensor);

// Runs `callable` with the deadline and the cancellation of the call, whose times it notes. If the
// deadline passes before the run has ended, the error is DEADLINE_EXCEEDED "Timed out waiting for
// notification", the message that clients know. *run_time becomes how long the run took, one that
// failed included; it is left as it is if there was none. It may be null.
absl::Status RunCallable(const Callable& callable, const CallOptions& options,
                         absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches,
                         absl::Duration* run_time = nullptr);

// Holds the inputs and outputs of a signature by position, and one compiled run for each set of
// outputs that was requested. Positions are those of the aliases in byte order.
//
// Thread-safe. A request whose run is compiled already takes no lock.
class SignatureRuns {
 public:
  struct Input {
    absl::string_view alias;
    const SignatureTensor* tensor;
    const Tensor* default_value;  // null if the request must have this input
  };
  struct Output {
    absl::string_view alias;
    const SignatureTensor* tensor;
  };
  // Positions of outputs, in ascending order.
  using Positions = absl::InlinedVector<int, 8>;

  // The most sets of outputs that are compiled. Requests for further sets compute all outputs.
  static constexpr int kMaxOutputSets = 64;

  // Name and signature must outlive this object.
  SignatureRuns(absl::string_view name, const Signature& signature, MakeRun make_run);

  absl::string_view name() const { return name_; }
  const Signature& signature() const { return signature_; }
  absl::Span<const Input> inputs() const { return inputs_; }
  absl::Span<const Output> outputs() const { return outputs_; }

  // Runs the signature. `feeds` are all inputs in the order of their positions. `fetches` become
  // the outputs at `positions`, which must be ascending and distinct. Errors: those of compiling
  // and of the run; INVALID_ARGUMENT with the alias of an input or output that is no single tensor.
  absl::Status Run(const Positions& positions, const CallOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches);

  // Returns the sampled requests.
  std::vector<SampleRequest> SampleRequests() const;

  // Returns the smoothed time of recent runs. Infinite before the first one has ended, if one of
  // the last few hundred took very long, and if the signature is open-ended.
  absl::Duration TypicalRunTime() const;

 private:
  struct Prepared {
    Positions positions;
    std::shared_ptr<const Callable> callable;
  };

  absl::StatusOr<const Prepared*> Prepare(const Positions& positions);
  void RecordRunTime(absl::Duration time);
  void RecordFailedRunTime(absl::Duration time);

  const absl::string_view name_;
  const Signature& signature_;
  const MakeRun make_run_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  absl::Mutex compile_mu_;
  AppendOnlyList<Prepared> prepared_;  // added to under compile_mu_
  std::atomic<int64_t> typical_ns_{-1};
  std::atomic<int> runs_to_distrust_{0};  // after one that took very long
  RequestSamples samples_;
};

}  // namespace tessera::serving

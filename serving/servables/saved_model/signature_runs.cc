#include "serving/servables/saved_model/signature_runs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {
namespace {

// A run that takes so long should not keep a thread that reads requests from the next ones.
constexpr absl::Duration kVeryLong = absl::Milliseconds(20);
constexpr int kRunsToDistrust = 256;

// Refuses a tensor of a signature that has no name: a sparse or composite one, which TensorFlow
// describes by the names of its parts. `remedy` is for the client.
absl::Status CheckIsOneTensor(absl::string_view what, absl::string_view alias,
                              const SignatureTensor& tensor, absl::string_view signature,
                              absl::string_view remedy) {
  if (!tensor.run_name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " '", alias, "' of signature '", signature,
      "' is made of several tensors, as a sparse or ragged one is, and has no form in requests; ",
      remedy));
}

}  // namespace

RunRows RowsOf(const SignatureTensor& tensor) {
  const PartialShape& shape = tensor.shape;
  const bool is_fixed = shape.known_rank() && (shape.rank() == 0 || shape.dim(0) >= 0);
  return is_fixed ? RunRows::kFixed : RunRows::kAny;
}

absl::Status RunCallable(const Callable& callable, const CallOptions& options,
                         absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches,
                         absl::Duration* run_time) {
  RunOptions run_options;
  run_options.cancellation = options.cancellation;
  if (options.times != nullptr) run_options.queued = &options.times->batched;
  const absl::Time start = absl::Now();
  if (options.deadline != absl::InfiniteFuture()) {
    run_options.timeout = options.deadline - start;
    if (run_options.timeout <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("Timed out waiting for notification");
    }
  }
  absl::Status status = callable.Run(run_options, feeds, fetches);
  const absl::Time end = absl::Now();
  if (run_time != nullptr) *run_time = end - start;
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError("Timed out waiting for notification");
  }
  RETURN_IF_ERROR(status);
  if (options.times != nullptr) {
    options.times->run_began = start;
    options.times->run_ended = end;
  }
  return absl::OkStatus();
}

SignatureRuns::SignatureRuns(absl::string_view name, const Signature& signature, MakeRun make_run)
    : name_(name), signature_(signature), make_run_(std::move(make_run)) {
  for (const auto& [alias, tensor] : signature.inputs) {
    auto found = signature.defaults.find(alias);
    inputs_.push_back(
        {alias, &tensor, found == signature.defaults.end() ? nullptr : &found->second});
  }
  for (const auto& [alias, tensor] : signature.outputs) outputs_.push_back({alias, &tensor});
}

absl::Status SignatureRuns::Run(const Positions& positions, const CallOptions& options,
                                absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) {
  ASSIGN_OR_RETURN(const Prepared* prepared, Prepare(positions));
  absl::Duration run_time = absl::ZeroDuration();
  const absl::Status status = RunCallable(*prepared->callable, options, feeds, fetches, &run_time);
  if (!status.ok()) {
    RecordFailedRunTime(run_time);
    return status;
  }
  RecordRunTime(run_time);
  if (options.may_be_sampled) samples_.Offer(positions, feeds);
  if (prepared->positions.size() == positions.size()) return absl::OkStatus();
  std::vector<Tensor> wanted;
  wanted.reserve(positions.size());
  for (const int position : positions) wanted.push_back(std::move((*fetches)[position]));
  fetches->swap(wanted);
  return absl::OkStatus();
}

absl::StatusOr<const SignatureRuns::Prepared*> SignatureRuns::Prepare(const Positions& positions) {
  auto matches = [&](const Prepared& prepared) { return prepared.positions == positions; };
  if (const Prepared* found = prepared_.Find(matches)) return found;

  absl::MutexLock lock(&compile_mu_);
  if (const Prepared* found = prepared_.Find(matches)) return found;
  Positions all(outputs_.size());
  std::iota(all.begin(), all.end(), 0);
  Prepared prepared;
  prepared.positions = prepared_.size() < kMaxOutputSets ? positions : all;
  if (prepared.positions != positions) {
    const Prepared* found = prepared_.Find(
        [&](const Prepared& candidate) { return candidate.positions == prepared.positions; });
    if (found != nullptr) return found;
  }
  RunSignature signature;
  RunRows rows = RunRows::kAny;
  for (const auto& [alias, tensor, default_value] : inputs_) {
    RETURN_IF_ERROR(CheckIsOneTensor("input", alias, *tensor, name_,
                                     "export a signature with its parts as inputs"));
    signature.feeds.push_back(tensor->run_name);
    rows = std::max(rows, RowsOf(*tensor));
  }
  for (const int position : prepared.positions) {
    const auto& [alias, tensor] = outputs_[position];
    RETURN_IF_ERROR(CheckIsOneTensor("output", alias, *tensor, name_,
                                     "name others in output_filter, or export its parts"));
    signature.fetches.push_back(tensor->run_name);
    rows = std::max(rows, RowsOf(*tensor));
  }
  ASSIGN_OR_RETURN(prepared.callable, make_run_(signature, rows));
  return prepared_.Add(std::move(prepared));
}

std::vector<SampleRequest> SignatureRuns::SampleRequests() const {
  std::vector<SampleRequest> requests;
  samples_.ForEach([&](absl::Span<const int> positions, std::vector<Tensor> feeds) {
    SampleRequest& request = requests.emplace_back();
    request.signature_name = std::string(name_);
    for (const Input& input : inputs_) request.input_names.emplace_back(input.alias);
    request.inputs = std::move(feeds);
    for (const int position : positions) {
      request.output_filter.emplace_back(outputs_[position].alias);
    }
  });
  return requests;
}

absl::Duration SignatureRuns::TypicalRunTime() const {
  const int64_t typical = typical_ns_.load(std::memory_order_relaxed);
  const bool is_unknown = typical < 0 || runs_to_distrust_.load(std::memory_order_relaxed) > 0;
  return is_unknown || signature_.is_open_ended ? absl::InfiniteDuration()
                                                : absl::Nanoseconds(typical);
}

void SignatureRuns::RecordRunTime(absl::Duration time) {
  // Threads may overwrite each other's update: a sample more or less does not matter.
  const int64_t sample = absl::ToInt64Nanoseconds(time);
  const int64_t typical = typical_ns_.load(std::memory_order_relaxed);
  // The estimate falls faster than it rises, because the first runs of a version compile and
  // allocate what later runs reuse.
  const int64_t weight = sample < typical ? 2 : 8;
  typical_ns_.store(typical < 0 ? sample : typical + (sample - typical) / weight,
                    std::memory_order_relaxed);
  // Requests of one signature may differ by their values or their sizes.
  if (time >= kVeryLong) {
    runs_to_distrust_.store(kRunsToDistrust, std::memory_order_relaxed);
  } else if (const int left = runs_to_distrust_.load(std::memory_order_relaxed); left > 0) {
    runs_to_distrust_.store(left - 1, std::memory_order_relaxed);
  }
}

// A run that fails at once says nothing of those that succeed; one that was given up does.
void SignatureRuns::RecordFailedRunTime(absl::Duration time) {
  if (time >= kVeryLong) RecordRunTime(time);
}

}  // namespace tessera::serving

#include "serving/rollout/mirror.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "serving/servables/named_outputs.h"

namespace tessera::serving {
namespace {

// A thread without copies looks for new ones this often and as long, before it has itself woken by
// the next one. To wake a thread takes the request several microseconds.
constexpr absl::Duration kRest = absl::Milliseconds(1);
constexpr int kMaxRests = 100;

bool IsDrawn(double percent) {
  if (percent >= 100) return true;
  if (!(percent > 0)) return false;
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<>(0, 100)(random) < percent;
}

// Sets `kept` to tensors that stay valid after the request; see Offer().
absl::Status KeepInputs(absl::Span<const Tensor> inputs, std::vector<Tensor>* kept) {
  for (const Tensor& input : inputs) {
    if (!IsTriviallyCopyable(input.dtype()) || input.size_bytes() > Mirror::kMaxCopiedBytes) {
      kept->push_back(input);
      continue;
    }
    ASSIGN_OR_RETURN(kept->emplace_back(), input.DeepCopy());
  }
  return absl::OkStatus();
}

int64_t BytesOf(absl::Span<const Tensor> inputs) {
  size_t bytes = 0;
  for (const Tensor& input : inputs) bytes += input.total_bytes();
  return static_cast<int64_t>(bytes);
}

// Whether an error may be due to the low priority of the run, or to the end of the mirror.
bool IsOfTheMirror(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace

// An InferenceTask that stays valid after its request.
struct Mirror::KeptTask {
  std::string signature_name;
  std::string method_name;
};

struct Mirror::Copy {
  ServableId candidate;
  std::shared_ptr<VersionMeasurer> measurer;
  RequestMethod method = RequestMethod::kPredict;
  SampleRequest request;        // except for Predict, the one input is the examples
  std::vector<KeptTask> tasks;  // of MultiInference
  AnswerExcerpt live;
  int64_t bytes = 0;  // as counted in waiting_bytes_
  Copy* next = nullptr;
};

Mirror::Mirror(const Options& options, Acquire acquire)
    : options_(options),
      acquire_(std::move(acquire)),
      copies_(options.metrics == nullptr
                  ? nullptr
                  : options.metrics->AddCounter("/tessera/serving/rollout_mirrored_requests",
                                                {"model_name", "outcome"})) {
  for (int i = 0; i < std::max(1, options_.cores.size()); ++i) {
    try {
      threads_.emplace_back([this] { RunThread(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      break;  // the system has no more threads
    }
  }
}

Mirror::~Mirror() {
  stopping_.store(true);
  num_pushes_.fetch_add(1);
  num_pushes_.notify_all();
  cancellation_.Cancel();
  for (std::thread& thread : threads_) thread.join();
  for (Copy* copy = pushed_.load(); copy != nullptr;) delete std::exchange(copy, copy->next);
}

void Mirror::Offer(const ServableId& candidate, std::shared_ptr<VersionMeasurer> measurer,
                   double percent, const TrafficRouter::Answer& answer) {
  if (!answer.status.ok() || answer.inputs.empty() || !IsDrawn(percent)) return;
  // The excerpt counts as if it were as large as it can be.
  const int64_t bytes =
      BytesOf(answer.inputs) + AnswerExcerpt::kMaxElements * static_cast<int64_t>(sizeof(double));
  std::vector<Tensor> inputs;
  if (!Reserve(bytes) || !KeepInputs(answer.inputs, &inputs).ok()) {
    Release(bytes);
    measurer->RecordDropped(absl::Now());
    Count(candidate.name, "dropped");
    return;
  }
  auto copy = std::make_unique<Copy>();
  copy->candidate = candidate;
  copy->bytes = bytes;
  copy->live = ExcerptOf(answer.outputs, measurer->output());
  copy->measurer = std::move(measurer);
  copy->method = answer.method;
  copy->request.signature_name = std::string(answer.signature_name);
  copy->request.inputs = std::move(inputs);
  for (const absl::string_view name : answer.input_names) {
    copy->request.input_names.emplace_back(name);
  }
  for (const absl::string_view name : answer.output_filter) {
    copy->request.output_filter.emplace_back(name);
  }
  for (const InferenceTask& task : answer.tasks) {
    copy->tasks.push_back({std::string(task.model.signature_name), std::string(task.method_name)});
  }
  Push(copy.release());
}

bool Mirror::Reserve(int64_t bytes) {
  const int64_t requests = waiting_requests_.fetch_add(1) + 1;
  return waiting_bytes_.fetch_add(bytes) + bytes <= options_.max_bytes &&
         requests <= options_.max_requests;
}

void Mirror::Release(int64_t bytes) {
  waiting_requests_.fetch_sub(1);
  waiting_bytes_.fetch_sub(bytes);
}

void Mirror::Push(Copy* copy) {
  copy->next = pushed_.load(std::memory_order_relaxed);
  while (!pushed_.compare_exchange_weak(copy->next, copy, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  num_pushes_.fetch_add(1);
  num_pushes_.notify_one();
}

std::unique_ptr<Mirror::Copy> Mirror::Pop() {
  absl::MutexLock lock(&pop_mu_);
  if (taken_.empty()) {
    for (Copy* copy = pushed_.exchange(nullptr, std::memory_order_acquire); copy != nullptr;) {
      taken_.emplace_back(std::exchange(copy, copy->next));
    }
  }
  if (taken_.empty()) return nullptr;
  std::unique_ptr<Copy> copy = std::move(taken_.back());
  taken_.pop_back();
  Release(copy->bytes);
  return copy;
}

void Mirror::RunThread() {
  pthread_setname_np(pthread_self(), "mirror");
  SetThreadPriority(options_.priority);
  if (const absl::Status bound = options_.cores.BindThisThread(); !bound.ok()) {
    LOG(WARNING) << "mirror: " << bound.message();
  }
  const BackgroundScope background(options_.background_pool);
  std::optional<PacedScope> pace;  // while there are copies, however short their runs are
  int rests = 0;                   // since the last copy
  while (!stopping_.load()) {
    const int num_pushes = num_pushes_.load();
    if (const std::unique_ptr<Copy> copy = Pop()) {
      if (options_.pacer != nullptr && !pace.has_value()) pace.emplace(options_.pacer);
      Run(*copy);
      rests = 0;
      continue;
    }
    pace.reset();
    if (rests++ < kMaxRests) {
      absl::SleepFor(kRest);
    } else {
      num_pushes_.wait(num_pushes);
    }
  }
}

void Mirror::Run(const Copy& copy) {
  const absl::StatusOr<ModelHandle> model = acquire_(copy.candidate);
  if (!model.ok()) return;  // it was taken back or replaced meanwhile
  if (HasEffects(**model, copy)) return;
  std::vector<NamedOutput> outputs;
  const absl::Status status = Ask(**model, copy, &outputs);
  if (IsOfTheMirror(status)) {
    copy.measurer->RecordDropped(absl::Now());
    Count(copy.candidate.name, "dropped");
    return;
  }
  copy.measurer->RecordComparison(absl::Now(), copy.live, status, outputs);
  Count(copy.candidate.name, status.ok() ? "compared" : "failed");
}

bool Mirror::HasEffects(const Servable& candidate, const Copy& copy) {
  const auto has_effects = [&](absl::string_view name) {
    const SignatureInfo* const signature = candidate.info().FindSignature(name);
    return signature != nullptr && !signature->is_pure;
  };
  if (copy.method != RequestMethod::kMultiInference) {
    return has_effects(copy.request.signature_name);
  }
  return std::any_of(copy.tasks.begin(), copy.tasks.end(),
                     [&](const KeptTask& task) { return has_effects(task.signature_name); });
}

absl::Status Mirror::Ask(const Servable& candidate, const Copy& copy,
                         std::vector<NamedOutput>* outputs) {
  const CallOptions options{.deadline = absl::Now() + options_.timeout,
                            .cancellation = &cancellation_,
                            .may_be_sampled = false};
  if (copy.method == RequestMethod::kPredict) {
    PredictResult result;
    RETURN_IF_ERROR(AskSample(candidate, copy.request, options, &result));
    *outputs = std::move(result.outputs);
    return absl::OkStatus();
  }
  const auto examples = [&]() -> absl::StatusOr<Tensor> { return copy.request.inputs[0]; };
  if (copy.method == RequestMethod::kMultiInference) {
    std::vector<InferenceTask> tasks;
    for (const KeptTask& task : copy.tasks) {
      tasks.push_back(
          {.model = {.name = copy.candidate.name, .signature_name = task.signature_name},
           .method_name = task.method_name});
    }
    std::vector<InferenceResult> results;
    RETURN_IF_ERROR(candidate.MultiInference(tasks, examples, options, &results));
    *outputs = OutputsOf(results);
    return absl::OkStatus();
  }
  const ExamplesRequest request{copy.request.signature_name, examples};
  if (copy.method == RequestMethod::kClassify) {
    ClassifyResult result;
    RETURN_IF_ERROR(candidate.Classify(request, options, &result));
    *outputs = OutputsOf(result);
  } else {
    RegressResult result;
    RETURN_IF_ERROR(candidate.Regress(request, options, &result));
    *outputs = OutputsOf(result);
  }
  return absl::OkStatus();
}

void Mirror::Count(const std::string& model, absl::string_view outcome) {
  if (copies_ != nullptr) copies_->Get({model, outcome}).Increment();
}

}  // namespace tessera::serving

#include "runtime/training/pipeline/batch_source.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/host/host.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/training/pipeline/bad_record.h"
#include "runtime/training/pipeline/contents_mark.h"
#include "runtime/training/pipeline/pipeline_plan.h"
#include "runtime/training/pipeline/running_pipeline.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

// What a position depends on besides the contents of the files, which have a mark of their own. The
// names of folders may differ.
std::string FingerprintOf(const training::PipelineSpec& spec, const BatchSourceOptions& options,
                          const PipelinePlan& plan) {
  training::PipelineSpec shared = spec;
  shared.clear_files();
  shared.clear_parallelism();
  std::string fingerprint = absl::StrCat("batch ", options.batch_size, "\n");
  for (const std::string& file : plan.files) {
    absl::StrAppend(&fingerprint, "file ", file.substr(file.rfind('/') + 1), "\n");
  }
  return absl::StrCat(fingerprint, shared.ShortDebugString());
}

absl::Status NoBatch(const PipelinePlan& plan, int64_t batch_size) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the pipeline yields no batch: ", plan.files.size(), " files, first '", plan.files[0],
      "', have ", plan.keep_remainder ? "no record" : "fewer records than a batch",
      plan.skip > 0 ? absl::StrCat(" behind the ", plan.skip, " that are skipped") : "",
      plan.keep_remainder
          ? ""
          : absl::StrCat(", ", batch_size, "; set keep_remainder or a smaller batch")));
}

// Stands before the mark of the files' contents in a position.
constexpr absl::string_view kContents = "contents ";

// A position with batches ahead begins with this and their number. For each follow the number of
// its tensors, none for the end of an epoch, and the size and the bytes of each tensor. The
// position of the pipeline behind them comes last.
constexpr absl::string_view kAhead = "ahead\n";

absl::StatusOr<Tensor> SaveWithBatches(absl::string_view pipeline,
                                       const std::deque<BatchAhead::Result>& ahead) {
  std::string bytes = absl::StrCat(kAhead, ahead.size(), "\n");
  for (const BatchAhead::Result& result : ahead) {
    absl::StrAppend(&bytes, result.batch.size(), "\n");
    for (const Tensor& tensor : result.batch) {
      tensorflow::TensorProto proto;
      RETURN_IF_ERROR(TensorToProto(tensor, TensorProtoForm::kTensorContent, &proto));
      const std::string text = proto.SerializeAsString();
      absl::StrAppend(&bytes, text.size(), "\n", text);
    }
  }
  absl::StrAppend(&bytes, pipeline);
  return Tensor::Scalar(std::move(bytes));
}

bool TakeNumber(absl::string_view* bytes, uint64_t* number) {
  const size_t end = bytes->find('\n');
  if (end == absl::string_view::npos || !absl::SimpleAtoi(bytes->substr(0, end), number)) {
    return false;
  }
  bytes->remove_prefix(end + 1);
  return true;
}

absl::Status DamagedPosition() {
  return absl::DataLossError("the saved position of the pipeline is damaged");
}

// Takes one batch off a position. Errors: DATA_LOSS.
absl::StatusOr<std::vector<Tensor>> TakeBatch(absl::string_view* bytes) {
  uint64_t count = 0;
  if (!TakeNumber(bytes, &count)) return DamagedPosition();
  std::vector<Tensor> batch;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    tensorflow::TensorProto proto;
    if (!TakeNumber(bytes, &size) || size > bytes->size() ||
        !proto.ParseFromArray(bytes->data(), static_cast<int>(size))) {
      return DamagedPosition();
    }
    bytes->remove_prefix(size);
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(proto)));
    batch.push_back(std::move(tensor));
  }
  return batch;
}

}  // namespace

struct BatchSource::State {
  PipelinePlan plan;
  int64_t batch_size = 1;
  SessionOptions session_options;
  std::string fingerprint;
  std::string contents;  // the mark of the files
  RunningPipeline pipeline;
  int64_t batches = 0;  // of this epoch
};

BatchSource::BatchSource(std::unique_ptr<State> state) : state_(std::move(state)) {
  for (const FieldPlan& field : state_->plan.fields) {
    PartialShape shape({state_->plan.keep_remainder ? -1 : state_->batch_size});
    for (int64_t dim : field.output_shape.dims()) shape.AddDim(dim);
    fields_.push_back({field.name, field.output_dtype, std::move(shape)});
  }
}

BatchSource::~BatchSource() = default;

absl::StatusOr<std::unique_ptr<BatchSource>> BatchSource::Make(const training::PipelineSpec& spec,
                                                               const BatchSourceOptions& options) {
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch: must be at least 1, is ", options.batch_size));
  }
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->plan, PlanPipeline(spec, options.base_folder));
  state->batch_size = options.batch_size;
  state->fingerprint = FingerprintOf(spec, options, state->plan);
  state->contents = ContentsMark(state->plan.files);
  state->session_options = options.session;
  if (state->session_options.host == nullptr) {
    state->session_options.host =
        std::make_shared<Host>(Host::Options{.intra_op_threads = options.session.intra_op_threads,
                                             .inter_op_threads = options.session.inter_op_threads});
  }
  ASSIGN_OR_RETURN(state->pipeline, RunningPipeline::Start(state->plan, options.batch_size,
                                                           options.seed, state->session_options));
  return std::unique_ptr<BatchSource>(new BatchSource(std::move(state)));
}

const std::vector<std::string>& BatchSource::files() const { return state_->plan.files; }

absl::StatusOr<bool> BatchSource::GetNext(CancellationManager* cancellation,
                                          std::vector<Tensor>* batch) {
  const absl::Status status = state_->pipeline.Next(cancellation, batch);
  if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) return status;
  if (!status.ok()) {
    return LocateError(status, state_->plan, state_->session_options, cancellation);
  }
  if ((*batch)[0].dim(0) > 0) {
    ++state_->batches;
    return true;
  }
  batch->clear();
  if (std::exchange(state_->batches, 0) > 0) return false;
  return NoBatch(state_->plan, state_->batch_size);
}

void BatchSource::PrepareAhead(Prepare prepare, CancellationManager* cancellation) {
  prepare_ = std::move(prepare);
  ahead_ = std::make_unique<BatchAhead>(
      [this](CancellationManager* of_get) {
        BatchAhead::Result result;
        result.has_batch = GetNext(of_get, &result.batch);
        if (!result.has_batch.ok() || !*result.has_batch) return result;
        absl::StatusOr<std::vector<Tensor>> prepared = prepare_(result.batch);
        if (prepared.ok()) {
          result.prepared = *std::move(prepared);
        } else {
          result.has_batch = prepared.status();
        }
        return result;
      },
      cancellation);
}

absl::StatusOr<bool> BatchSource::Next(CancellationManager* cancellation,
                                       std::vector<Tensor>* batch) {
  if (ahead_ == nullptr) return GetNext(cancellation, batch);
  BatchAhead::Result result = ahead_->Next(cancellation);
  *batch = std::move(result.batch);
  prepared_ = std::move(result.prepared);
  return result.has_batch;
}

absl::StatusOr<Tensor> BatchSource::SavePosition() const {
  if (ahead_ == nullptr) {
    ASSIGN_OR_RETURN(std::string pipeline, SavePipeline());
    return Tensor::Scalar(std::move(pipeline));
  }
  const std::deque<BatchAhead::Result>& ahead = ahead_->AwaitPending();
  ASSIGN_OR_RETURN(std::string pipeline, SavePipeline());
  for (const BatchAhead::Result& result : ahead) {
    // What could not be had is tried again after a restore.
    if (!result.has_batch.ok()) return Tensor::Scalar(std::move(pipeline));
  }
  if (ahead.empty()) return Tensor::Scalar(std::move(pipeline));
  return SaveWithBatches(pipeline, ahead);
}

absl::Status BatchSource::RestorePosition(const Tensor& position) {
  if (position.dtype() != DType::kString || position.num_elements() != 1) {
    return absl::InvalidArgumentError("the position of a pipeline must be a string scalar");
  }
  absl::string_view bytes = position.scalar<std::string>();
  uint64_t count = 0;
  if (absl::ConsumePrefix(&bytes, kAhead) && !TakeNumber(&bytes, &count)) return DamagedPosition();
  std::deque<BatchAhead::Result> ahead;
  for (uint64_t i = 0; i < count; ++i) {
    BatchAhead::Result result;
    ASSIGN_OR_RETURN(result.batch, TakeBatch(&bytes));
    result.has_batch = !result.batch.empty();
    ahead.push_back(std::move(result));
  }
  if (ahead_ != nullptr) ahead_->SetPending({});
  // The batches of another pipeline may have other fields.
  RETURN_IF_ERROR(RestorePipeline(bytes));
  for (const BatchAhead::Result& result : ahead) {
    if (*result.has_batch && result.batch.size() != fields_.size()) return DamagedPosition();
  }
  if (ahead.empty()) return absl::OkStatus();
  if (ahead_ == nullptr) {
    PrepareAhead([](const std::vector<Tensor>&) { return std::vector<Tensor>(); }, nullptr);
  }
  for (BatchAhead::Result& result : ahead) {
    if (!*result.has_batch) continue;
    ASSIGN_OR_RETURN(result.prepared, prepare_(result.batch));
  }
  ahead_->SetPending(std::move(ahead));
  return absl::OkStatus();
}

absl::StatusOr<std::string> BatchSource::SavePipeline() const {
  ASSIGN_OR_RETURN(const Tensor position, state_->pipeline.Save());
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(position, TensorProtoForm::kTensorContent, &proto));
  return absl::StrCat(state_->fingerprint, "\n", kContents, state_->contents, "\n", state_->batches,
                      "\n", proto.SerializeAsString());
}

absl::Status BatchSource::RestorePipeline(absl::string_view bytes) {
  if (!absl::ConsumePrefix(&bytes, absl::StrCat(state_->fingerprint, "\n"))) {
    return absl::FailedPreconditionError(
        "the position was saved with other files or options of data.train or another batch size");
  }
  if (absl::ConsumePrefix(&bytes, kContents)) {
    const absl::string_view mark = bytes.substr(0, bytes.find('\n'));
    RETURN_IF_ERROR(CheckContents(mark, state_->plan.files));
    bytes.remove_prefix(std::min(bytes.size(), mark.size() + 1));
  }
  const size_t end = bytes.find('\n');
  int64_t batches = 0;
  tensorflow::TensorProto proto;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(bytes.substr(0, end), &batches) ||
      !proto.ParseFromArray(bytes.data() + end + 1, static_cast<int>(bytes.size() - end - 1))) {
    return DamagedPosition();
  }
  ASSIGN_OR_RETURN(const Tensor saved, TensorFromProto(std::move(proto)));
  if (saved.dtype() != DType::kVariant || saved.num_elements() != 1) return DamagedPosition();
  RETURN_IF_ERROR(state_->pipeline.Restore(saved));
  state_->batches = batches;
  return absl::OkStatus();
}

}  // namespace tessera

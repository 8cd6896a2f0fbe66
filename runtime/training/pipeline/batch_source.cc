#include "runtime/training/pipeline/batch_source.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/host/host.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/training/pipeline/bad_record.h"
#include "runtime/training/pipeline/pipeline_plan.h"
#include "runtime/training/pipeline/running_pipeline.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

// What a position depends on besides the contents of the files. The names of folders may differ.
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

}  // namespace

struct BatchSource::State {
  PipelinePlan plan;
  int64_t batch_size = 1;
  SessionOptions session_options;
  std::string fingerprint;
  RunningPipeline pipeline;
  int64_t batches = 0;  // of this epoch
};

BatchSource::BatchSource(std::unique_ptr<State> state) : state_(std::move(state)) {
  for (const FieldPlan& field : state_->plan.fields) {
    PartialShape shape({-1});
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

absl::StatusOr<bool> BatchSource::Next(CancellationManager* cancellation,
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

absl::StatusOr<Tensor> BatchSource::SavePosition() const {
  ASSIGN_OR_RETURN(const Tensor position, state_->pipeline.Save());
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(position, TensorProtoForm::kTensorContent, &proto));
  return Tensor::Scalar(
      absl::StrCat(state_->fingerprint, "\n", state_->batches, "\n", proto.SerializeAsString()));
}

absl::Status BatchSource::RestorePosition(const Tensor& position) {
  if (position.dtype() != DType::kString || position.num_elements() != 1) {
    return absl::InvalidArgumentError("the position of a pipeline must be a string scalar");
  }
  absl::string_view bytes = position.scalar<std::string>();
  if (!absl::ConsumePrefix(&bytes, absl::StrCat(state_->fingerprint, "\n"))) {
    return absl::FailedPreconditionError(
        "the position was saved by a pipeline of other files, fields, or another batch size");
  }
  const size_t end = bytes.find('\n');
  int64_t batches = 0;
  tensorflow::TensorProto proto;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(bytes.substr(0, end), &batches) ||
      !proto.ParseFromArray(bytes.data() + end + 1, static_cast<int>(bytes.size() - end - 1))) {
    return absl::DataLossError("the saved position of the pipeline is damaged");
  }
  ASSIGN_OR_RETURN(const Tensor saved, TensorFromProto(std::move(proto)));
  if (saved.dtype() != DType::kVariant || saved.num_elements() != 1) {
    return absl::DataLossError("the saved position of the pipeline is damaged");
  }
  RETURN_IF_ERROR(state_->pipeline.Restore(saved));
  state_->batches = batches;
  return absl::OkStatus();
}

}  // namespace tessera

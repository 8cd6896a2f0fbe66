#include "serving/frontend/kserve/model_description.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/infer.h"

namespace tessera::serving {
namespace {

absl::StatusOr<std::string> NamedDatatype(absl::string_view name, const TensorInfo& tensor) {
  const absl::string_view datatype = DatatypeOf(tensor.dtype);
  if (!datatype.empty()) return std::string(datatype);
  return absl::UnimplementedError(
      absl::StrCat("'", name, "' is of type ", DTypeName(tensor.dtype),
                   ", which this protocol lacks; ask with PredictionService"));
}

template <typename Tensors, typename Add>
absl::Status DescribeTensors(const Tensors& tensors, Add add) {
  for (const auto& [name, tensor] : tensors) {
    ASSIGN_OR_RETURN(const std::string datatype, NamedDatatype(name, tensor));
    inference::ModelMetadataResponse::TensorMetadata* const described = add();
    described->set_name(name);
    described->set_datatype(datatype);
    for (const int64_t dim : DescribedDims(tensor.shape)) described->add_shape(dim);
  }
  return absl::OkStatus();
}

// Fills a ModelInput or a ModelOutput.
template <typename Configured>
void Configure(const inference::ModelMetadataResponse::TensorMetadata& tensor,
               Configured* configured) {
  inference::DataType type = inference::TYPE_STRING;
  if (tensor.datatype() != "BYTES") {
    inference::DataType_Parse(absl::StrCat("TYPE_", tensor.datatype()), &type);
  }
  configured->set_name(tensor.name());
  configured->set_data_type(type);
  *configured->mutable_dims() = tensor.shape();
}

using Duration = inference::StatisticDuration;

void Add(const Histogram& micros, Duration* duration) {
  const auto read = micros.Read();
  duration->set_count(duration->count() + read.sample_count);
  duration->set_ns(duration->ns() + static_cast<uint64_t>(std::llround(read.sample_sum * 1e3)));
}

// Returns the number of requests that the server failed to answer, rather than refused.
uint64_t Failures(const RequestCell& cell) {
  int64_t failures = 0;
  for (int number = 0; number < RequestCell::kNumCodes; ++number) {
    const auto code = static_cast<absl::StatusCode>(number);
    if (code == absl::StatusCode::kOk || code == absl::StatusCode::kInvalidArgument) continue;
    failures += cell.ended(code);
  }
  return static_cast<uint64_t>(failures);
}

}  // namespace

absl::Status FillMetadata(const ModelInfo& model, inference::ModelMetadataResponse* metadata) {
  ASSIGN_OR_RETURN(const InferSignature signature, SignatureToInfer(model));
  metadata->set_name(model.id.name);
  metadata->set_platform(model.platform);
  RETURN_IF_ERROR(
      DescribeTensors(signature.info->inputs, [metadata] { return metadata->add_inputs(); }));
  return DescribeTensors(signature.info->outputs, [metadata] { return metadata->add_outputs(); });
}

absl::Status FillConfig(const ModelInfo& model, inference::ModelConfig* config) {
  inference::ModelMetadataResponse metadata;
  RETURN_IF_ERROR(FillMetadata(model, &metadata));
  config->set_name(model.id.name);
  config->set_platform(metadata.platform());
  config->set_backend(model.platform);
  for (const auto& input : metadata.inputs()) Configure(input, config->add_input());
  for (const auto& output : metadata.outputs()) Configure(output, config->add_output());
  return absl::OkStatus();
}

void FillStatistics(const ServableId& id, const RequestStats& stats,
                    inference::ModelStatistics* statistics) {
  statistics->set_name(id.name);
  statistics->set_version(absl::StrCat(id.version));
  inference::InferStatistics& all = *statistics->mutable_inference_stats();
  Duration& success = *all.mutable_success();
  Duration& fail = *all.mutable_fail();
  Duration& queue = *all.mutable_queue();
  Duration& decode = *all.mutable_compute_input();
  Duration& run = *all.mutable_compute_infer();
  Duration& encode = *all.mutable_compute_output();
  all.mutable_cache_hit();  // nothing is cached
  all.mutable_cache_miss();
  absl::Time last = absl::UnixEpoch();
  stats.ForEach([&](absl::string_view, absl::string_view, const RequestCell& cell) {
    Add(cell.latency(), &success);
    fail.set_count(fail.count() + Failures(cell));
    Add(cell.latency(RequestPhase::kDecode), &decode);
    Add(cell.latency(RequestPhase::kRun), &run);
    Add(cell.latency(RequestPhase::kEncode), &encode);
    // A request waits for a thread and for its batch, and is counted once.
    Duration wait;
    Add(cell.latency(RequestPhase::kWait), &wait);
    Add(cell.latency(RequestPhase::kBatch), &queue);
    queue.set_ns(queue.ns() + wait.ns());
    last = std::max(last, cell.last_success());
  });
  statistics->set_inference_count(success.count());
  statistics->set_execution_count(success.count());
  statistics->set_last_inference(static_cast<uint64_t>(absl::ToUnixMillis(last)));
}

}  // namespace tessera::serving

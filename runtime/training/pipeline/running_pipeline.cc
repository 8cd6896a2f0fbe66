#include "runtime/training/pipeline/running_pipeline.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/training/pipeline/pipeline_graph.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {

absl::StatusOr<RunningPipeline> RunningPipeline::Start(const PipelinePlan& plan, int64_t batch_size,
                                                       int64_t seed,
                                                       const SessionOptions& options) {
  RunningPipeline pipeline;
  tensorflow::GraphDef graph;
  RETURN_IF_ERROR(BuildPipelineGraph(plan, batch_size, seed, &graph));
  ASSIGN_OR_RETURN(pipeline.session_, Session::Create(options));
  RETURN_IF_ERROR(pipeline.session_->Extend(graph));
  RETURN_IF_ERROR(pipeline.session_->Run({}, {}, {kPipelineStart}, nullptr));
  RunSignature next;
  for (size_t i = 0; i < plan.fields.size(); ++i) {
    next.fetches.push_back(absl::StrCat(kPipelineNext, ":", i));
  }
  ASSIGN_OR_RETURN(pipeline.next_, pipeline.session_->MakeCallable(next));
  return pipeline;
}

absl::Status RunningPipeline::Next(CancellationManager* cancellation,
                                   std::vector<Tensor>* batch) const {
  RunOptions options;
  options.cancellation = cancellation;
  return next_->Run(options, {}, batch);
}

absl::StatusOr<Tensor> RunningPipeline::Save() const {
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(session_->Run({}, {kPipelineSave}, {}, &outputs));
  return std::move(outputs[0]);
}

absl::Status RunningPipeline::Restore(const Tensor& position) const {
  return session_->Run({{kPipelinePosition, position}}, {}, {kPipelineRestore}, nullptr);
}

}  // namespace tessera

#include "runtime/exec/step_stats.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/profile/tracer.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace tessera {

int64_t StepStatsCollector::Now() { return absl::GetCurrentTimeNanos(); }

void StepStatsCollector::Record(absl::string_view device, absl::string_view node,
                                absl::string_view op, int64_t ready, int64_t start, int64_t end,
                                absl::Span<const Value> outputs) {
  Entry entry;
  entry.device = std::string(device);
  entry.node = std::string(node);
  entry.op = std::string(op);
  entry.ready = ready;
  entry.start = start;
  entry.end = end;
  entry.thread = CurrentThreadId();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& tensor = outputs[i].tensor;
    if (!tensor.has_value()) continue;
    entry.outputs.push_back({static_cast<int>(i), tensor.dtype(), tensor.shape(),
                             static_cast<int64_t>(tensor.size_bytes())});
  }
  absl::MutexLock lock(&mu_);
  entries_.push_back(std::move(entry));
}

void StepStatsCollector::WriteTo(tensorflow::StepStats* proto) const {
  absl::MutexLock lock(&mu_);
  std::map<std::string, tensorflow::DeviceStepStats*> devices;
  for (const Entry& entry : entries_) {
    tensorflow::DeviceStepStats*& device = devices[entry.device];
    if (device == nullptr) {
      device = proto->add_dev_stats();
      device->set_device(entry.device);
    }
    tensorflow::NodeExecStats* const stats = device->add_node_stats();
    stats->set_node_name(entry.node);
    stats->set_timeline_label(absl::StrCat(entry.node, " = ", entry.op, "()"));
    stats->set_thread_id(entry.thread);
    stats->set_scheduled_micros(entry.ready / 1000);
    stats->set_scheduled_nanos(entry.ready);
    stats->set_all_start_micros(entry.start / 1000);
    stats->set_all_start_nanos(entry.start);
    stats->set_op_start_rel_micros(0);
    stats->set_op_end_rel_micros((entry.end - entry.start) / 1000);
    stats->set_op_end_rel_nanos(entry.end - entry.start);
    stats->set_all_end_rel_micros((entry.end - entry.start) / 1000);
    stats->set_all_end_rel_nanos(entry.end - entry.start);
    for (const Entry::Output& output : entry.outputs) {
      tensorflow::NodeOutput* const out = stats->add_output();
      out->set_slot(output.slot);
      tensorflow::TensorDescription* const description = out->mutable_tensor_description();
      description->set_dtype(static_cast<tensorflow::DataType>(output.dtype));
      ShapeToProto(PartialShape(output.shape), description->mutable_shape());
      description->mutable_allocation_description()->set_requested_bytes(output.bytes);
    }
  }
}

}  // namespace tessera

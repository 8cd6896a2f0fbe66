// Reads messages with the generated classes of apis/ and writes them back, for tests that compare
// these classes with those of other programs.
//
// A request on standard input is a type name and the message's bytes, each after its length as four
// bytes, little endian. The answer on standard output is, framed likewise,
//   - what was wrong: an unknown type, bytes that do not parse, or one line for each place that
//     holds fields the class does not know; empty if nothing was,
//   - the message, serialized again,
//   - the message in text format.
// Ends with the input.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpc_health/v1/health.pb.h"
#include "inference/grpc_service.pb.h"
#include "tensorflow/core/example/example_parser_configuration.pb.h"
#include "tensorflow/core/framework/log_memory.pb.h"
#include "tensorflow/core/framework/reader_base.pb.h"
#include "tensorflow/core/protobuf/composite_tensor_variant.pb.h"
#include "tensorflow/core/protobuf/control_flow.pb.h"
#include "tensorflow/core/protobuf/fingerprint.pb.h"
#include "tensorflow/core/protobuf/master.pb.h"
#include "tensorflow/core/protobuf/queue_runner.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb.h"
#include "tensorflow/core/protobuf/transport_options.pb.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "tensorflow/core/util/event.pb.h"
#include "tensorflow/core/util/memmapped_file_system.pb.h"
#include "tensorflow/core/util/quantization/uniform_quant_ops_attr.pb.h"
#include "tensorflow/core/util/saved_tensor_slice.pb.h"
#include "tensorflow/python/training/checkpoint_state.pb.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"
#include "tensorflow_serving/apis/get_model_status.pb.h"
#include "tensorflow_serving/apis/model_management.pb.h"
#include "tensorflow_serving/apis/prediction_log.pb.h"
#include "tensorflow_serving/config/monitoring_config.pb.h"
#include "tensorflow_serving/config/platform_config.pb.h"
#include "tensorflow_serving/config/ssl_config.pb.h"
#include "tensorflow_serving/servables/tensorflow/saved_model_bundle_source_adapter.pb.h"
#include "tsl/profiler/protobuf/profiler_service.pb.h"
#include "xla/xla_data.pb.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// A file's classes are linked, and found by name, once one of them is mentioned; with it come the
// files that it imports.
template <typename... Messages>
void Link() {
  (google::protobuf::LinkMessageReflection<Messages>(), ...);
}

void LinkEverything() {
  Link<tensorflow::CheckpointState, tensorflow::CompositeTensorVariantMetadata,
       tensorflow::ControlFlowContextDef, tensorflow::CreateSessionRequest, tensorflow::Event,
       tensorflow::ExampleParserConfiguration, tensorflow::FingerprintDef,
       tensorflow::MemmappedFileSystemDirectory, tensorflow::MemoryLogStep,
       tensorflow::BundleHeaderProto, tensorflow::QueueRunnerDef, tensorflow::RecvBufRespExtra,
       tensorflow::ReaderBaseState, tensorflow::RunGraphRequest, tensorflow::SavedModel,
       tensorflow::SavedTensorSlices, tensorflow::UniformQuantizedConvolutionDimensionNumbersAttr,
       xla::GatherDimensionNumbers>();
  Link<tensorflow::serving::GetModelMetadataRequest, tensorflow::serving::GetModelStatusRequest,
       tensorflow::serving::MonitoringConfig, tensorflow::serving::PlatformConfigMap,
       tensorflow::serving::PredictionLog, tensorflow::serving::ReloadConfigRequest,
       tensorflow::serving::SSLConfig, tensorflow::serving::SavedModelBundleSourceAdapterConfig>();
  Link<grpc::health::v1::HealthCheckRequest, inference::ModelInferRequest,
       tensorflow::ProfileRequest>();
}

// Adds "path: N unknown fields" for `message` and all messages below it.
void ListUnknownFields(const Message& message, const std::string& path, std::string* problems) {
  const Reflection& reflection = *message.GetReflection();
  const int unknown = reflection.GetUnknownFields(message).field_count();
  if (unknown > 0) {
    *problems += path + ": " + std::to_string(unknown) + " unknown fields, the first is number " +
                 std::to_string(reflection.GetUnknownFields(message).field(0).number()) + "\n";
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string below = path + "." + field->name();
    if (!field->is_repeated()) {
      ListUnknownFields(reflection.GetMessage(message, field), below, problems);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      ListUnknownFields(reflection.GetRepeatedMessage(message, field, i),
                        below + "[" + std::to_string(i) + "]", problems);
    }
  }
}

struct Answer {
  std::string problems;
  std::string bytes;
  std::string text;
};

Answer Echo(const std::string& type, const std::string& bytes) {
  const Descriptor* descriptor = DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  if (descriptor == nullptr) return {.problems = "no message type " + type + "\n"};
  const std::unique_ptr<Message> message(
      MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  if (!message->ParseFromString(bytes)) return {.problems = type + " does not parse\n"};
  Answer answer;
  ListUnknownFields(*message, type, &answer.problems);
  answer.bytes = message->SerializeAsString();
  TextFormat::PrintToString(*message, &answer.text);
  return answer;
}

// Returns nothing at the end of the input.
std::optional<std::string> ReadFrame() {
  uint32_t length = 0;
  if (!std::cin.read(reinterpret_cast<char*>(&length), sizeof(length))) return std::nullopt;
  std::string frame(length, '\0');
  if (!std::cin.read(frame.data(), length)) return std::nullopt;
  return frame;
}

void WriteFrame(const std::string& frame) {
  const uint32_t length = frame.size();
  std::cout.write(reinterpret_cast<const char*>(&length), sizeof(length));
  std::cout.write(frame.data(), length);
}

}  // namespace

int main() {
  LinkEverything();
  std::ios::sync_with_stdio(false);
  for (;;) {
    const std::optional<std::string> type = ReadFrame();
    if (!type.has_value()) return 0;
    const std::optional<std::string> bytes = ReadFrame();
    if (!bytes.has_value()) return 1;
    const Answer answer = Echo(*type, *bytes);
    WriteFrame(answer.problems);
    WriteFrame(answer.bytes);
    WriteFrame(answer.text);
    std::cout.flush();
  }
}

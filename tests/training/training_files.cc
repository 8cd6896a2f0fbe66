// Writes files of training jobs, for tests that read them with TensorFlow:
//
//   training_files save FOLDER PREFIX STEP        the tensors of a checkpoint as a new one
//   training_files objects FOLDER PREFIX STEP     the same, object-based: key K becomes a variable
//   K training_files export META PREFIX FOLDER [ASSET]
//                                                 a SavedModel, and FOLDER.meta, of a graph and the
//                                                 signatures and collections of a MetaGraphDef
//   training_files copy SOURCE FOLDER PREFIX      a SavedModel with the values of a checkpoint
//   training_files events FOLDER IMAGE GRAPH      an event file; IMAGE is a PNG file of 2 x 3
//                                                 pixels, GRAPH a GraphDef
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_match.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/checkpoint/checkpoint_v1.h"
#include "runtime/checkpoint/object_graph.h"
#include "runtime/checkpoint/testing/object_graph_maker.h"
#include "runtime/session/saved_model_writer.h"
#include "runtime/summary/event_file_writer.h"
#include "runtime/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace tessera {
namespace {

using Arguments = std::vector<std::string>;

// All tensors of a checkpoint but its object graph.
absl::StatusOr<std::vector<SavedTensor>> ReadAll(const CheckpointReader& checkpoint) {
  std::vector<SavedTensor> tensors;
  for (const std::string& key : checkpoint.TensorNames()) {
    if (key == kObjectGraphKey) continue;
    ASSIGN_OR_RETURN(Tensor tensor, checkpoint.Read(key));
    tensors.push_back({key, std::move(tensor)});
  }
  return tensors;
}

absl::Status Save(const Arguments& arguments, bool as_objects) {
  ASSIGN_OR_RETURN(const auto source, CheckpointReader::Open(arguments[1]));
  ASSIGN_OR_RETURN(std::vector<SavedTensor> tensors, ReadAll(*source));
  ASSIGN_OR_RETURN(std::string objects, ReadObjectGraph(*source));
  if (as_objects) {
    std::vector<TrackableVariable> variables;
    for (SavedTensor& tensor : tensors) {
      std::string key = absl::StrCat(tensor.key, "/.ATTRIBUTES/VARIABLE_VALUE");
      variables.push_back({key, std::exchange(tensor.key, key)});
    }
    ASSIGN_OR_RETURN(objects, MakeObjectGraph(variables));
  }
  int64_t step = 0;
  if (!absl::SimpleAtoi(arguments[2], &step)) return absl::InvalidArgumentError("no step");
  ASSIGN_OR_RETURN(CheckpointSaver saver, CheckpointSaver::Open(arguments[0], {.max_to_keep = 2}));
  return saver.Save(step, tensors, objects).status();
}

absl::Status SaveVersion1(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto source, CheckpointReader::Open(arguments[1]));
  ASSIGN_OR_RETURN(const std::vector<SavedTensor> tensors, ReadAll(*source));
  std::vector<TensorPart> parts;
  for (const auto& [key, tensor, slice] : tensors) {
    ASSIGN_OR_RETURN(TensorSlice whole, TensorSlice::Whole(tensor.rank()).Within(tensor.shape()));
    parts.push_back({key, {tensor.shape(), std::move(whole)}, tensor});
  }
  return WriteCheckpointV1(arguments[0], parts);
}

absl::StatusOr<SignatureTensor> TensorOf(const tensorflow::TensorInfo& info) {
  SignatureTensor tensor;
  tensor.tensor_name = info.name();
  tensor.dtype = static_cast<DType>(info.dtype());
  return tensor;
}

absl::Status Export(const Arguments& arguments) {
  tensorflow::MetaGraphDef source;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(arguments[0]));
  if (!source.ParseFromString(bytes)) return absl::DataLossError("no MetaGraphDef");
  ASSIGN_OR_RETURN(const auto checkpoint, CheckpointReader::Open(arguments[1]));
  ASSIGN_OR_RETURN(const std::vector<SavedTensor> values, ReadAll(*checkpoint));
  MetaGraphContents contents;
  for (const SavedTensor& value : values) contents.variables.push_back({value.key, value.key});
  for (const auto& [key, def] : source.signature_def()) {
    Signature& signature = contents.signatures[key];
    for (const auto& [alias, info] : def.inputs()) {
      ASSIGN_OR_RETURN(signature.inputs[alias], TensorOf(info));
    }
    for (const auto& [alias, info] : def.outputs()) {
      ASSIGN_OR_RETURN(signature.outputs[alias], TensorOf(info));
    }
  }
  contents.collections = {source.collection_def().begin(), source.collection_def().end()};
  if (arguments.size() > 3) {
    contents.init_node = "init_all_tables";
    contents.assets = {{arguments[3], "asset_path:0"}};
  }
  ASSIGN_OR_RETURN(const tensorflow::MetaGraphDef meta,
                   MakeMetaGraph(source.graph_def(), contents));
  RETURN_IF_ERROR(WriteMetaGraph(absl::StrCat(arguments[2], ".meta"), meta));
  return WriteSavedModel(arguments[2], meta, contents.assets, values);
}

absl::Status Copy(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto checkpoint, CheckpointReader::Open(arguments[2]));
  ASSIGN_OR_RETURN(const std::vector<SavedTensor> values, ReadAll(*checkpoint));
  return CopySavedModel(arguments[0], arguments[1], values);
}

absl::Status WriteEvents(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string image, ReadFile(arguments[1]));
  ASSIGN_OR_RETURN(const std::string graph, ReadFile(arguments[2]));
  ASSIGN_OR_RETURN(const auto writer, EventFileWriter::Create(arguments[0], {}));
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  tensorflow::Event event;
  event.set_wall_time(1.7e9);
  event.set_graph_def(graph);
  RETURN_IF_ERROR(writer->Write(event));
  for (int step : {0, 1}) {
    event.set_step(step);
    tensorflow::Summary* const summary = event.mutable_summary();
    summary->Clear();
    if (step == 0) {
      AddHyperParameters({{"rate", 0.5}, {"optimizer", "adam"}, {"nesterov", true}}, "trial", start,
                         summary);
      AddText("job", "a *job*", summary);
      AddImage("digit", image, 2, 3, 1, summary);
    }
    AddScalar("loss", 0.5f - static_cast<float>(step), summary);
    AddHistogram("weights", {-1.0f, 0.5f, std::nanf(""), 2.0f}, summary);
    if (step == 1) AddRunEnd(true, start + absl::Seconds(5), summary);
    RETURN_IF_ERROR(writer->Write(event));
  }
  return writer->Flush();
}

absl::Status Main(const std::string& command, const Arguments& arguments) {
  if (command == "save" && arguments.size() == 3) return Save(arguments, false);
  if (command == "objects" && arguments.size() == 3) return Save(arguments, true);
  if (command == "version1" && arguments.size() == 2) return SaveVersion1(arguments);
  if (command == "export" && arguments.size() >= 3) return Export(arguments);
  if (command == "copy" && arguments.size() == 3) return Copy(arguments);
  if (command == "events" && arguments.size() == 3) return WriteEvents(arguments);
  return absl::InvalidArgumentError("usage: see training_files.cc");
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const absl::Status status =
      tessera::Main(argc > 1 ? argv[1] : "", {argv + std::min(argc, 2), argv + argc});
  if (status.ok()) return 0;
  std::cerr << "training_files: " << status << "\n";
  return 1;
}

#include "runtime/session/saved_model_writer.h"

#include <climits>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/base/atomic_folder.h"
#include "runtime/base/directory_tree.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/session/saved_model.h"
#include "runtime/session/saver_nodes.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/fingerprint.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

using tensorflow::MetaGraphDef;

constexpr char kInitOp[] = "__saved_model_init_op";
constexpr char kMainOpCollection[] = "saved_model_main_op";
constexpr char kPredictMethod[] = "tensorflow/serving/predict";
// What TensorFlow 2.21 writes; readers of today do not look at it.
constexpr int kFingerprintVersion = 4;

std::string LastComponent(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Refuses tensors of nodes that the graph does not have.
class NodeCheck {
 public:
  explicit NodeCheck(const tensorflow::GraphDef& graph) {
    for (const tensorflow::NodeDef& node : graph.node()) nodes_.insert(node.name());
  }
  absl::Status operator()(const std::string& tensor, absl::string_view of) const {
    if (nodes_.contains(NodeOf(tensor))) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(of, " names '", tensor, "', which the graph does not have"));
  }

 private:
  absl::flat_hash_set<absl::string_view> nodes_;
};

using TensorInfos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;

absl::Status AddTensors(const std::map<std::string, SignatureTensor>& tensors,
                        const NodeCheck& check, const std::string& signature, TensorInfos* infos) {
  for (const auto& [alias, tensor] : tensors) {
    RETURN_IF_ERROR(check(tensor.tensor_name, absl::StrCat("signature '", signature, "'")));
    tensorflow::TensorInfo& info = (*infos)[alias];
    info.set_name(tensor.tensor_name);
    info.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype));
    ShapeToProto(tensor.shape, info.mutable_tensor_shape());
  }
  return absl::OkStatus();
}

// The same message gives the same bytes: maps are written in the order of their keys.
absl::StatusOr<std::string> Serialize(const google::protobuf::Message& message,
                                      const std::string& path) {
  if (message.ByteSizeLong() > INT_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write '", path,
                     "': its graph has more than 2 GB; large constants "
                     "belong into variables"));
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// Copies a file, and makes the folder that it goes to.
absl::Status CopyFile(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(from));
  RETURN_IF_ERROR(CreateDirectories(to.substr(0, to.rfind('/'))));
  return WriteFileAtomically(to, contents);
}

std::string RandomUuid() {
  std::random_device device;
  const auto bits = [&] { return uint64_t{device()} << 32 | device(); };
  return absl::StrFormat("%d", bits());
}

// Writes fingerprint.pb from the files of the folder. `known` has the hashes that these files do
// not give.
absl::Status WriteFingerprint(const std::string& folder, tensorflow::FingerprintDef known) {
  const std::string index = VariablesPrefix(folder) + ".index";
  ASSIGN_OR_RETURN(const std::string saved_model, ReadFile(JoinPath(folder, "saved_model.pb")));
  known.set_saved_model_checksum(Fingerprint64(saved_model));
  if (FileExists(index)) {
    ASSIGN_OR_RETURN(const std::string contents, ReadFile(index));
    known.set_checkpoint_hash(Fingerprint64(contents));
  }
  known.set_uuid(RandomUuid());
  known.mutable_version()->set_producer(kFingerprintVersion);
  return WriteFileAtomically(JoinPath(folder, "fingerprint.pb"), known.SerializeAsString());
}

absl::Status WriteVariables(const std::string& folder, absl::Span<const SavedTensor> variables) {
  ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(VariablesPrefix(folder)));
  for (const SavedTensor& variable : variables) {
    if (variable.slice.empty()) {
      RETURN_IF_ERROR(writer.Add(variable.key, variable.tensor));
    } else {
      ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(variable.slice));
      RETURN_IF_ERROR(writer.AddSlice(variable.key, part.shape, part.slice, variable.tensor));
    }
  }
  return writer.Finish();
}

// The variables of a SavedModel, with the values of `replaced` in place of its own. All parts of a
// partitioned one are replaced, or none.
absl::StatusOr<std::vector<SavedTensor>> ReplaceVariables(const CheckpointReader& own,
                                                          absl::Span<const SavedTensor> replaced) {
  absl::flat_hash_map<absl::string_view, std::vector<SavedTensor>> values;
  for (const SavedTensor& variable : replaced) {
    const absl::StatusOr<CheckpointEntry> entry = own.Find(variable.key);
    const Tensor& tensor = variable.tensor;
    if (!entry.ok() || entry->dtype != tensor.dtype() || entry->shape.rank() != tensor.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable '", variable.key, "', ", DTypeName(tensor.dtype()), " of shape ",
          tensor.shape().ToString(), ", does not fit the SavedModel, which has ",
          entry.ok() ? absl::StrCat(DTypeName(entry->dtype), " of shape ", entry->shape.ToString())
                     : "no such variable"));
    }
    values[variable.key].push_back(variable);
  }
  std::vector<SavedTensor> variables;
  for (const std::string& key : own.TensorNames()) {
    const auto it = values.find(key);
    if (it != values.end()) {
      variables.insert(variables.end(), it->second.begin(), it->second.end());
    } else {
      ASSIGN_OR_RETURN(Tensor value, own.Read(key));
      variables.push_back({key, std::move(value)});
    }
  }
  return variables;
}

}  // namespace

absl::StatusOr<MetaGraphDef> MakeMetaGraph(const tensorflow::GraphDef& graph,
                                           const MetaGraphContents& contents) {
  MetaGraphDef meta;
  *meta.mutable_graph_def() = graph;
  if (!contents.variables.empty()) {
    ASSIGN_OR_RETURN(*meta.mutable_saver_def(),
                     AddSaver(contents.variables, meta.mutable_graph_def()));
  }
  for (const std::string& tag : contents.tags) meta.mutable_meta_info_def()->add_tags(tag);
  const NodeCheck check(graph);
  for (const auto& [key, signature] : contents.signatures) {
    tensorflow::SignatureDef& def = (*meta.mutable_signature_def())[key];
    def.set_method_name(signature.method_name.empty() ? kPredictMethod : signature.method_name);
    RETURN_IF_ERROR(AddTensors(signature.inputs, check, key, def.mutable_inputs()));
    RETURN_IF_ERROR(AddTensors(signature.outputs, check, key, def.mutable_outputs()));
    for (const auto& [alias, value] : signature.defaults) {
      RETURN_IF_ERROR(
          TensorToProto(value, TensorProtoForm::kTensorContent, &(*def.mutable_defaults())[alias]));
    }
  }
  for (const auto& [name, collection] : contents.collections) {
    (*meta.mutable_collection_def())[name] = collection;
  }
  if (!contents.init_node.empty()) {
    RETURN_IF_ERROR(check(contents.init_node, "the init op"));
    tensorflow::TensorInfo& info =
        (*(*meta.mutable_signature_def())[kInitOp].mutable_outputs())[kInitOp];
    info.set_name(contents.init_node);
    info.mutable_tensor_shape()->set_unknown_rank(true);
    (*meta.mutable_collection_def())[kMainOpCollection].mutable_node_list()->add_value(
        contents.init_node);
  }
  absl::flat_hash_map<std::string, std::string> files;  // by the names of their copies
  for (const ExportedAsset& asset : contents.assets) {
    RETURN_IF_ERROR(check(asset.tensor, absl::StrCat("asset '", asset.file, "'")));
    tensorflow::AssetFileDef* const def = meta.add_asset_file_def();
    def->set_filename(LastComponent(asset.file));
    def->mutable_tensor_info()->set_name(asset.tensor);
    if (files.emplace(def->filename(), asset.file).first->second != asset.file) {
      return absl::InvalidArgumentError(
          absl::StrCat("two assets have the name '", def->filename(), "'"));
    }
  }
  return meta;
}

absl::Status WriteMetaGraph(const std::string& path, const MetaGraphDef& meta_graph) {
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(meta_graph, path));
  return WriteFileAtomically(path, bytes);
}

absl::Status WriteSavedModel(const std::string& folder, const MetaGraphDef& meta_graph,
                             absl::Span<const ExportedAsset> assets,
                             absl::Span<const SavedTensor> variables) {
  ASSIGN_OR_RETURN(AtomicFolder target, AtomicFolder::Create(folder));
  for (const ExportedAsset& asset : assets) {
    RETURN_IF_ERROR(CopyFile(
        asset.file, JoinPath(JoinPath(target.temporary(), "assets"), LastComponent(asset.file))));
  }
  if (meta_graph.has_saver_def()) {
    RETURN_IF_ERROR(WriteVariables(target.temporary(), variables));
  }
  tensorflow::SavedModel saved_model;
  saved_model.set_saved_model_schema_version(1);
  *saved_model.add_meta_graphs() = meta_graph;
  const std::string path = JoinPath(target.temporary(), "saved_model.pb");
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(saved_model, path));
  RETURN_IF_ERROR(WriteFileAtomically(path, bytes));
  RETURN_IF_ERROR(WriteFingerprint(target.temporary(), {}));
  return target.Commit();
}

absl::Status CopySavedModel(const std::string& source, const std::string& folder,
                            absl::Span<const SavedTensor> variables) {
  if (!HoldsSavedModel(source)) return ReadSavedModel(source).status();
  ASSIGN_OR_RETURN(const auto own, CheckpointReader::Open(VariablesPrefix(source)));
  ASSIGN_OR_RETURN(const std::vector<SavedTensor> all, ReplaceVariables(*own, variables));
  // The target may be below the source: what is to be copied is listed before the target is there.
  ASSIGN_OR_RETURN(const DirectoryTree tree, ReadDirectoryTree(source));
  ASSIGN_OR_RETURN(AtomicFolder target, AtomicFolder::Create(folder));
  for (const std::string& name : tree.files) {
    if (name.rfind("variables/", 0) == 0 || name == "fingerprint.pb") continue;
    RETURN_IF_ERROR(CopyFile(JoinPath(source, name), JoinPath(target.temporary(), name)));
  }
  RETURN_IF_ERROR(WriteVariables(target.temporary(), all));
  if (FileExists(JoinPath(target.temporary(), "saved_model.pb"))) {
    tensorflow::FingerprintDef known;
    // A damaged one is written anew.
    known.ParseFromString(ReadFile(JoinPath(source, "fingerprint.pb")).value_or(""));
    RETURN_IF_ERROR(WriteFingerprint(target.temporary(), std::move(known)));
  }
  return target.Commit();
}

}  // namespace tessera

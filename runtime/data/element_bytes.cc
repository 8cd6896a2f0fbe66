#include "runtime/data/element_bytes.h"

#include "runtime/base/status.h"
#include "runtime/base/tf_record.h"
#include "runtime/data/dataset_encoding.h"
#include "runtime/data/record_file.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {

absl::StatusOr<std::string> ElementToBytes(const Element& element) {
  std::string bytes;
  for (const Tensor& component : element) {
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(component, TensorProtoForm::kTensorContent, &proto));
    AppendTfRecord(proto.SerializeAsString(), &bytes);
  }
  return bytes;
}

absl::StatusOr<Element> ElementFromBytes(absl::string_view bytes) {
  const std::unique_ptr<ByteSource> source = ByteSource::Of(bytes, Compression::kNone);
  Element element;
  std::string component;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, ReadRecord(*source, &component));
    if (!more) break;
    tensorflow::TensorProto proto;
    if (!proto.ParseFromString(component)) return absl::DataLossError("an element is damaged");
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(proto)));
    element.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(DecodeDatasets(&element));
  return element;
}

}  // namespace tessera

// Any bytes as a TensorProto: decoding fails with a status or gives a tensor that encodes again to
// what decodes to the same.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/base/logging.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {
namespace {

void CheckTensor(const Tensor& tensor) {
  for (const auto form : {TensorProtoForm::kTypedFields, TensorProtoForm::kTensorContent}) {
    tensorflow::TensorProto proto;
    CHECK(TensorToProto(tensor, form, &proto).ok());
    // Without a limit: an element that was given once, and stood for many, is now written for each.
    const auto again = TensorFromProto(proto, std::numeric_limits<int64_t>::max());
    CHECK(again.ok()) << again.status();
    CHECK(again->ToString(100) == tensor.ToString(100))
        << again->ToString() << " instead of " << tensor.ToString();
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensorflow::TensorProto proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto copied = tessera::TensorFromProto(proto);
  if (copied.ok()) tessera::CheckTensor(*copied);
  const auto moved = tessera::TensorFromProto(std::move(proto));
  CHECK(moved.ok() == copied.ok());
  if (moved.ok()) CHECK(moved->ToString(100) == copied->ToString(100));
  return 0;
}

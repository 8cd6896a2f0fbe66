#include "serving/frontend/wire/wire_slices.h"

namespace tessera::serving {

SliceWriter::SliceWriter(size_t written_bytes)
    : written_(written_bytes),
      begin_(reinterpret_cast<char*>(const_cast<uint8_t*>(written_.begin()))),
      cut_(begin_) {}

void SliceWriter::Share(char* out, const Tensor& tensor) {
  slices_.push_back(written_.sub(cut_ - begin_, out - begin_));
  auto* holder = new Tensor(tensor);
  slices_.push_back(grpc::Slice(
      holder->mutable_raw(), holder->size_bytes(),
      [](void* held) { delete static_cast<Tensor*>(held); }, holder));
  cut_ = out;
}

grpc::ByteBuffer SliceWriter::Finish(char* out) {
  slices_.push_back(slices_.empty() ? written_ : written_.sub(cut_ - begin_, out - begin_));
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

}  // namespace tessera::serving

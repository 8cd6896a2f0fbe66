#include "serving/frontend/wire/wire_message.h"

#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace tessera::serving {

absl::Status WireMessage::Hold(const grpc::ByteBuffer& message) {
  grpc::Slice slice;
  if (message.TrySingleSlice(&slice).ok()) {
    slices_.push_back(std::move(slice));
  } else {
    std::vector<grpc::Slice> slices;
    if (message.Valid() && !message.Dump(&slices).ok()) {
      return absl::InternalError("the request's bytes could not be read");
    }
    slices_.assign(std::make_move_iterator(slices.begin()), std::make_move_iterator(slices.end()));
  }
  for (const grpc::Slice& part : slices_) {
    chunks_.emplace_back(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return absl::OkStatus();
}

std::shared_ptr<const void> WireMessage::Keep(const char* address) const {
  const std::less<const char*> before;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const absl::string_view chunk = chunks_[i];
    if (!before(address, chunk.data()) && before(address, chunk.data() + chunk.size())) {
      return std::make_shared<grpc::Slice>(slices_[i]);
    }
  }
  return nullptr;
}

}  // namespace tessera::serving

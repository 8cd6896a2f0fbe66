// WireMessage: the bytes of a gRPC message while they are read in place.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "serving/frontend/wire/wire_reader.h"

namespace tessera::serving {

// Holds references to the slices of a message. Readers are views of this object.
class WireMessage {
 public:
  WireMessage() = default;
  WireMessage(const WireMessage&) = delete;
  WireMessage& operator=(const WireMessage&) = delete;

  // Must be called once. Errors: INTERNAL if the bytes cannot be had.
  absl::Status Hold(const grpc::ByteBuffer& message);

  WireReader reader() const { return WireReader(chunks_); }
  // Returns a reference that keeps the memory at an address of the message alive; null for any
  // other address.
  std::shared_ptr<const void> Keep(const char* address) const;

 private:
  absl::InlinedVector<grpc::Slice, 1> slices_;
  absl::InlinedVector<absl::string_view, 1> chunks_;  // the contents of slices_
};

}  // namespace tessera::serving

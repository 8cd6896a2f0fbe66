// Reads a PredictRequest with the protocol buffer library and with our own reader of the wire
// format. Tests and a fuzzer compare the two.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera::serving {

struct PredictRequestContents {
  bool is_request = false;  // if false, all other members are empty
  bool has_model_spec = false;
  std::string model, signature;
  std::optional<int64_t> version;
  std::optional<std::string> label;
  std::map<std::string, std::string> inputs;  // dtype, shape and values by name, or the error
  std::vector<std::string> filter;

  bool operator==(const PredictRequestContents&) const = default;
  std::string ToString() const;
};

// An input of more than `max_tensor_bytes` is an error.
PredictRequestContents ReadByLibrary(const std::string& bytes, int64_t max_tensor_bytes);
PredictRequestContents ReadByWire(const grpc::ByteBuffer& bytes, int64_t max_tensor_bytes);

// Returns the bytes in slices of `chunk_size`; the last one may be smaller. Requires chunk_size >
// 0.
grpc::ByteBuffer InChunks(absl::string_view bytes, size_t chunk_size);

}  // namespace tessera::serving

// What a PredictRequest says, read by the protocol buffer library and by our own reader of the
// wire: for the tests and the fuzzer that hold them against each other.
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
  bool is_request = false;  // if not, the rest is empty
  bool has_model_spec = false;
  std::string model, signature;
  std::optional<int64_t> version;
  std::optional<std::string> label;
  std::map<std::string, std::string> inputs;  // type, shape and values, or the error
  std::vector<std::string> filter;

  bool operator==(const PredictRequestContents&) const = default;
  std::string ToString() const;
};

// Inputs of over `max_tensor_bytes` are errors.
PredictRequestContents ReadByLibrary(const std::string& bytes, int64_t max_tensor_bytes);
PredictRequestContents ReadByWire(const grpc::ByteBuffer& bytes, int64_t max_tensor_bytes);

// The bytes in slices of `chunk_size`, the last one aside. Requires chunk_size > 0.
grpc::ByteBuffer InChunks(absl::string_view bytes, size_t chunk_size);

}  // namespace tessera::serving

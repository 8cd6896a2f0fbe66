// Any bytes as a PredictRequest, in one piece and in several: our reader of the wire says what the
// protocol buffer library says.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/logging.h"
#include "serving/frontend/wire/testing/predict_request_contents.h"

namespace {

// More than a request of some kilobytes would ask for in earnest.
constexpr int64_t kMaxTensorBytes = 1 << 20;

}  // namespace

// The first byte says how the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t chunk_size = data[0] == 0 ? size : data[0];
  const auto expected = tessera::serving::ReadByLibrary(bytes, kMaxTensorBytes);
  const auto read =
      tessera::serving::ReadByWire(tessera::serving::InChunks(bytes, chunk_size), kMaxTensorBytes);
  CHECK(read == expected) << read.ToString() << " instead of " << expected.ToString();
  return 0;
}

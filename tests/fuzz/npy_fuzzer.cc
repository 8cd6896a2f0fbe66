// Any bytes as a file of numpy.save(): an error, or a tensor that is not larger than the file says.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/logging.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/npy_file.h"

namespace tessera::serving {
namespace {

void Fuzz(absl::string_view file) {
  const absl::StatusOr<Tensor> tensor = ParseNpy(file);
  if (!tensor.ok()) {
    const absl::StatusCode code = tensor.status().code();
    CHECK(code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kUnimplemented)
        << tensor.status();
    return;
  }
  // Every element has at least a byte in the file.
  CHECK(tensor->num_elements() <= static_cast<int64_t>(file.size())) << tensor->num_elements();
  if (tensor->dtype() != DType::kString) return;
  // UTF-8 needs no more bytes than UTF-32.
  size_t bytes = 0;
  for (const std::string& element : tensor->flat<std::string>()) bytes += element.size();
  CHECK(bytes <= file.size()) << bytes;
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::serving::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}

#include "runtime/device/testing/alias_view.h"

#include "absl/strings/str_cat.h"

namespace tessera {

Tensor AliasView(const LateStream& stream, const Tensor& tensor) {
  return Tensor::View(tensor.dtype(), tensor.shape(),
                      WrapBuffer(/*owner=*/nullptr, stream.Alias(tensor), tensor.size_bytes(),
                                 /*writable=*/false));
}

absl::Status CheckMemory(const Tensor& tensor, MemoryKind wanted, absl::string_view what) {
  const MemoryKind kind = tensor.memory_kind();
  if (tensor.num_elements() == 0 || IsHostAccessible(kind) == IsHostAccessible(wanted)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(what, " is in ", MemoryKindName(kind),
                                          " memory, the kernel wants it in ",
                                          MemoryKindName(wanted), " memory"));
}

}  // namespace tessera

#include "runtime/kernels/primitives/one_hot.h"

#include <algorithm>

#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/index_type.h"

namespace tessera {
namespace {

absl::Status RunOneHot(KernelContext& ctx, int64_t depth, int64_t inner, const Tensor& indices,
                       const Tensor& on, const Tensor& off, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  VisitStorageType(output->dtype(), [&]<typename T>() {
    const T& mark = *reinterpret_cast<const T*>(on.raw());
    const T& rest = *reinterpret_cast<const T*>(off.raw());
    T* const out = reinterpret_cast<T*>(output->mutable_raw());
    const char* const rest_bytes = off.raw();
    const bool is_zero =
        IsTriviallyCopyable(output->dtype()) &&
        std::all_of(rest_bytes, rest_bytes + sizeof(T), [](char byte) { return byte == 0; });
    ctx.ParallelFor(output->num_elements(), 0.1 * sizeof(T), [&](int64_t begin, int64_t end) {
      if (is_zero) {
        ZeroElements(output->dtype(), reinterpret_cast<char*>(out + begin), end - begin);
      } else {
        std::fill(out + begin, out + end, rest);
      }
    });
    VisitIndexType(indices.dtype(), [&]<typename Index>() {
      const auto index = indices.flat<Index>();
      for (size_t i = 0; i < index.size(); ++i) {
        const int64_t hot = static_cast<int64_t>(index[i]);
        if (hot < 0 || hot >= depth) continue;
        const int64_t row = static_cast<int64_t>(i) / inner,
                      column = static_cast<int64_t>(i) % inner;
        out[(row * depth + hot) * inner + column] = mark;
      }
    });
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(OneHot, kCpu, RunOneHot);

}  // namespace
}  // namespace tessera

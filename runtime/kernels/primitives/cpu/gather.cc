#include "runtime/kernels/primitives/gather.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/primitives/cpu/index_check.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/index_type.h"

namespace tessera {
namespace {

// Copies `slice` elements from `from` to `to`. Slices of one word, as in look-ups of scalars, are
// copied without a call.
class SliceCopier {
 public:
  SliceCopier(DType dtype, int64_t slice)
      : dtype_(dtype), slice_(slice), bytes_(slice * static_cast<int64_t>(DTypeSize(dtype))) {
    if (!IsTriviallyCopyable(dtype)) bytes_ = -1;
  }
  void operator()(const char* from, char* to) const {
    if (bytes_ == 4) {
      std::memcpy(to, from, 4);
    } else if (bytes_ == 8) {
      std::memcpy(to, from, 8);
    } else if (bytes_ >= 0) {
      std::memcpy(to, from, static_cast<size_t>(bytes_));
    } else {
      CopyElements(dtype_, from, to, slice_);
    }
  }
  void Skip(char* to) const { ZeroElements(dtype_, to, slice_); }

 private:
  const DType dtype_;
  const int64_t slice_;
  int64_t bytes_;
};

absl::Status RunGather(KernelContext& ctx, const Gather::Geometry& g, const Tensor& params,
                       const Tensor& indices, BadIndices bad_indices, Tensor* output) {
  const bool may_skip = bad_indices == BadIndices::kSkip;
  if (!may_skip) RETURN_IF_ERROR(CheckIndices(indices, g.size));
  if (output->num_elements() == 0) return absl::OkStatus();
  const int64_t bytes = g.slice * static_cast<int64_t>(DTypeSize(params.dtype()));
  const SliceCopier copy(params.dtype(), g.slice);
  const char* const slices = params.raw();
  char* const gathered = output->mutable_raw();
  VisitIndexType(indices.dtype(), [&]<typename Index>() {
    const Index* const index = indices.data<Index>();
    const auto gather_rows = [&](int64_t begin, int64_t end) {
      int64_t plane = begin / g.picks;  // batch * outer
      int64_t pick = begin % g.picks;
      for (int64_t row = begin; row < end;) {
        const Index* const batch = index + plane / g.outer * g.picks;
        const char* const from = slices + plane * g.size * bytes;
        char* to = gathered + row * bytes;
        const int64_t stop = std::min(g.picks, pick + (end - row));
        for (; pick < stop; ++pick, ++row, to += bytes) {
          const int64_t at = static_cast<int64_t>(batch[pick]);
          if (may_skip && static_cast<uint64_t>(at) >= static_cast<uint64_t>(g.size)) {
            copy.Skip(to);
          } else {
            copy(from + at * bytes, to);
          }
        }
        pick = 0;
        ++plane;
      }
    };
    ctx.ParallelFor(g.batch * g.outer * g.picks, 2 + 0.2 * static_cast<double>(bytes), gather_rows);
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Gather, kCpu, RunGather);

}  // namespace
}  // namespace tessera

#include "runtime/kernels/broadcast.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  absl::InlinedVector<int64_t, 6> dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a.dim(ia), db = ib < 0 ? 1 : b.dim(ib);
    if (da != db && da != 1 && db != 1) {
      return absl::InvalidArgumentError(absl::StrCat("incompatible shapes: ", a.ToString(), " and ",
                                                     b.ToString(), " do not broadcast together"));
    }
    dims[i] = da == 1 ? db : da;
  }
  return Shape::Make(dims);
}

int64_t BroadcastSource(int64_t position, const Shape& from, const Shape& to) {
  int64_t source = 0, stride = 1;
  for (int f = from.rank() - 1, t = to.rank() - 1; f >= 0; --f, --t) {
    if (from.dim(f) != 1) source += position % to.dim(t) * stride;
    stride *= from.dim(f);
    position /= to.dim(t);
  }
  return source;
}

}  // namespace tessera

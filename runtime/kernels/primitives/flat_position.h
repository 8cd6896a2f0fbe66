// Row-major positions of elements that are given by their coordinates, computed on the host.
#pragma once

#include <cstdint>

namespace tessera {

// Returns the position of an element, or -1 if it does not lie within the dimensions. `kDepth` is
// equal to `depth`, or is 0 for any depth.
template <int kDepth, typename Index>
int64_t FlatPosition(const Index* coordinates, int depth, const int64_t* dims) {
  uint64_t position = 0;
  bool bad = false;
  for (int d = 0; d < (kDepth == 0 ? depth : kDepth); ++d) {
    // The unsigned comparison covers negative coordinates.
    const auto x = static_cast<uint64_t>(static_cast<int64_t>(coordinates[d]));
    const auto size = static_cast<uint64_t>(dims[d]);
    bad |= x >= size;
    position = position * size + x;
  }
  return bad ? -1 : static_cast<int64_t>(position);
}

// Returns visit.template operator()<kDepth>() with the first argument of FlatPosition().
template <typename Visitor>
auto VisitDepth(int depth, const Visitor& visit) {
  switch (depth) {
    case 1:
      return visit.template operator()<1>();
    case 2:
      return visit.template operator()<2>();
    case 3:
      return visit.template operator()<3>();
    default:
      return visit.template operator()<0>();
  }
}

}  // namespace tessera

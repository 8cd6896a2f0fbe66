// Lists of dimensions: extents, or positions of dimensions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace tessera::stablehlo {

using Dims = std::vector<int64_t>;

inline Dims Joined(std::initializer_list<Dims> parts) {
  Dims all;
  for (const Dims& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// begin, begin + 1, ..., end - 1.
inline Dims Ascending(int64_t begin, int64_t end) {
  Dims dims(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

// The elements of `dims` at `positions`, which must be valid.
inline Dims Select(const Dims& dims, const Dims& positions) {
  Dims selected;
  for (int64_t p : positions) selected.push_back(dims[p]);
  return selected;
}

}  // namespace tessera::stablehlo

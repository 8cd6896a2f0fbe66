#include "runtime/kernels/fingerprint.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(FingerprintTest, RowsOfAnyLengthAreHashedEachByItself) {
  constexpr int64_t kRows = 3;
  for (int64_t size = 0; size < 200; ++size) {
    std::string rows;
    for (int64_t i = 0; i < kRows * size; ++i) rows += static_cast<char>(i * 37 + size);
    std::vector<uint64_t> hashes(kRows);
    FingerprintRows(rows.data(), size, kRows, hashes.data());
    for (int64_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(hashes[row], Fingerprint64(rows.substr(row * size, size))) << size << " " << row;
    }
  }
}

}  // namespace
}  // namespace tessera

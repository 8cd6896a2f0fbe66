#include "serving/core/name_hash.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(NameHashTest, EveryByteCounts) {
  for (int size = 1; size <= 40; ++size) {
    const std::string name(size, 'a');
    absl::flat_hash_set<size_t> hashes = {NameHash()(name)};
    for (int i = 0; i < size; ++i) {
      std::string other = name;
      other[i] = 'b';
      hashes.insert(NameHash()(other));
    }
    EXPECT_EQ(hashes.size(), size + 1) << size;
  }
}

TEST(NameHashTest, LengthCounts) {
  absl::flat_hash_set<size_t> hashes;
  for (int size = 0; size < 100; ++size) hashes.insert(NameHash()(std::string(size, '\0')));
  EXPECT_EQ(hashes.size(), 100);
}

TEST(NameHashTest, IsThatOfTheBytesWhereverTheyLie) {
  const std::string text = "xxresnet_50_v1.5";
  EXPECT_EQ(NameHash()(absl::string_view(text).substr(2)), NameHash()("resnet_50_v1.5"));
}

TEST(NameHashTest, NumberedNamesSpread) {
  absl::flat_hash_set<size_t> hashes, groups;
  for (int i = 0; i < 10000; ++i) {
    const size_t hash = NameHash()(absl::StrCat("model_", i));
    hashes.insert(hash);
    groups.insert(hash >> 7 & 1023);  // as a table of 1,024 groups sees it
  }
  EXPECT_EQ(hashes.size(), 10000);
  EXPECT_GT(groups.size(), 1000);
}

}  // namespace
}  // namespace tessera::serving

#include "runtime/kernels/lookup/row_buckets.h"

#include <map>
#include <random>
#include <utility>

#include "gtest/gtest.h"

namespace tessera {
namespace {

struct Spread {
  uint64_t operator()(int64_t number) const {
    return static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15;
  }
};
// Sends all numbers to one bucket.
struct Crowd {
  uint64_t operator()(int64_t) const { return uint64_t{1} << 63; }
};

template <typename Hash>
int64_t Find(const RowBuckets<Hash>& buckets, int64_t number) {
  return buckets.Find(number, buckets.Prefetch(number));
}

// Inserts and erases at random, beside a map of the numbers that should be there.
template <typename Hash>
void Churn(int64_t numbers, int steps) {
  RowBuckets<Hash> buckets;
  std::map<int64_t, int64_t> rows;
  std::mt19937 random(7);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t number = static_cast<int64_t>(random() % numbers) - numbers / 2;
    const auto it = rows.find(number);
    ASSERT_EQ(Find(buckets, number), it == rows.end() ? -1 : it->second) << number;
    if (it == rows.end()) {
      buckets.Insert(number, step);
      rows.emplace(number, step);
    } else if (random() % 2 == 0) {
      buckets.Erase(number, it->second);
      rows.erase(it);
    }
    ASSERT_EQ(buckets.size(), static_cast<int64_t>(rows.size()));
  }
  std::vector<int64_t> sorted;
  for (const auto& [number, row] : rows) sorted.push_back(row);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(buckets.SortedRows(), sorted);
}

TEST(RowBucketsTest, FindsWhatWasInsertedAndNotErased) {
  Churn<Spread>(5000, 100000);
  Churn<Spread>(5, 1000);
}

TEST(RowBucketsTest, FindsNumbersThatShareTheirHome) { Churn<Crowd>(60, 20000); }

// What an empty place holds is no number.
TEST(RowBucketsTest, EmptyPlacesHoldNoZero) {
  RowBuckets<Spread> buckets;
  EXPECT_EQ(Find(buckets, 0), -1);
  buckets.Insert(0, 5);
  EXPECT_EQ(Find(buckets, 0), 5);
  buckets.Erase(0, 5);
  EXPECT_EQ(Find(buckets, 0), -1);
}

TEST(RowBucketsTest, ANumberMayHaveSeveralRows) {
  RowBuckets<Spread> buckets;
  for (const int64_t row : {3, 1, 4, 15, 9, 2, 6}) buckets.Insert(42, row);
  for (const int64_t row : {3, 1, 4, 15, 9, 2, 6}) {
    EXPECT_EQ(buckets.FindIf(42, [row](int64_t found) { return found == row; }), row);
  }
  EXPECT_EQ(buckets.FindIf(42, [](int64_t found) { return found == 5; }), -1);
  EXPECT_EQ(buckets.FindIf(43, [](int64_t) { return true; }), -1);
}

}  // namespace
}  // namespace tessera

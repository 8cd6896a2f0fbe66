// Rows of a table by 64-bit numbers, laid out so that a look-up reads one cache line, whether it
// finds its number or not.
//
//   RowBuckets<Hash> buckets;
//   buckets.Reserve(100000);          // or grows by itself
//   buckets.Insert(number, row);
//   const auto* home = buckets.Prefetch(number);
//   ...                               // other look-ups, while the line comes
//   buckets.Find(number, home);       // row, or -1
//
// A number lies in its home bucket, or, if that was full when it was inserted, in one of the
// buckets after it. Half of the places are empty, so that one look-up in twenty goes further than
// its home. Numbers may repeat with different rows. Const functions may be called by several
// threads.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tessera {

// `Hash` makes a uint64_t of a number, always the same of equal numbers.
template <typename Hash>
class RowBuckets {
 public:
  static constexpr int64_t kMaxRow = INT32_MAX;

  // One cache line.
  struct alignas(64) Bucket {
    int64_t numbers[4] = {};
    int32_t rows[4] = {-1, -1, -1, -1};  // negative for a place without a number
    bool has_overflowed = false;         // a number of this bucket may lie further on
  };

  // Makes room for `count` numbers in all.
  void Reserve(int64_t count) {
    if (const int64_t needed = count / kNumbersABucket + 1; needed > num_buckets()) Rehash(needed);
  }

  // Returns the home bucket of a number after a prefetch of it. It is valid until a change.
  const Bucket* Prefetch(int64_t number) const {
    const Bucket* const home = &buckets_[HomeOf(number)];
    __builtin_prefetch(home);
    return home;
  }

  // Returns a row of the number, or -1 if there is none.
  int64_t Find(int64_t number, const Bucket* home) const {
    const unsigned places = PlacesOf(number, *home);
    if (places == 0 && home->has_overflowed) [[unlikely]] {
      return FindIf(number, [](int64_t) { return true; });
    }
    // Whether a number is there is hard to predict: no branch depends on it.
    return home->rows[std::countr_zero(places | 8)] | -static_cast<int64_t>(places == 0);
  }
  // Returns a row of the number that `accept(row)` is true for, or -1.
  template <typename Accept>
  int64_t FindIf(int64_t number, const Accept& accept) const {
    int64_t found = -1;
    Walk(number, [&](const Bucket& bucket) {
      for (unsigned places = PlacesOf(number, bucket); places != 0; places &= places - 1) {
        const int64_t row = bucket.rows[std::countr_zero(places)];
        if (accept(row)) {
          found = row;
          return true;
        }
      }
      return false;
    });
    return found;
  }

  // Requires 0 <= row <= kMaxRow.
  void Insert(int64_t number, int64_t row) {
    if (size_ >= num_buckets() * kNumbersABucket) Rehash(2 * num_buckets());
    // Erasing leaves marks of overflows behind.
    if (num_overflowed_ > num_buckets() / 4) Rehash(num_buckets());
    Put(number, static_cast<int32_t>(row));
    ++size_;
  }
  // Requires that the row was inserted with this number.
  void Erase(int64_t number, int64_t row) {
    Walk(number, [&](const Bucket& bucket) {
      const auto* const place = std::find(bucket.rows, bucket.rows + 4, row);
      if (place == bucket.rows + 4) return false;
      buckets_[&bucket - buckets_.data()].rows[place - bucket.rows] = -1;
      return true;
    });
    --size_;
  }

  int64_t size() const { return size_; }
  std::vector<int64_t> SortedRows() const {
    std::vector<int64_t> rows;
    for (const Bucket& bucket : buckets_) {
      for (const int32_t row : bucket.rows) {
        if (row >= 0) rows.push_back(row);
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  static constexpr int64_t kNumbersABucket = 2;  // on average, at most

  int64_t num_buckets() const { return static_cast<int64_t>(buckets_.size()); }
  size_t HomeOf(int64_t number) const {
    return static_cast<size_t>(static_cast<unsigned __int128>(Hash()(number)) * buckets_.size() >>
                               64);
  }

  // Returns a bit for each place of a bucket that holds the number.
  static unsigned PlacesOf(int64_t number, const Bucket& bucket) {
    const __m256i numbers = _mm256_load_si256(reinterpret_cast<const __m256i*>(bucket.numbers));
    const __m128i rows = _mm_load_si128(reinterpret_cast<const __m128i*>(bucket.rows));
    const __m256i equal = _mm256_cmpeq_epi64(numbers, _mm256_set1_epi64x(number));
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)) &
                                 ~_mm_movemask_ps(_mm_castsi128_ps(rows)));
  }

  // Calls visit(bucket) for the buckets that may hold a number until it returns true.
  template <typename Visit>
  void Walk(int64_t number, const Visit& visit) const {
    for (size_t i = HomeOf(number);; i = i + 1 == buckets_.size() ? 0 : i + 1) {
      if (visit(buckets_[i]) || !buckets_[i].has_overflowed) return;
    }
  }

  void Put(int64_t number, int32_t row) {
    for (size_t i = HomeOf(number);; i = i + 1 == buckets_.size() ? 0 : i + 1) {
      Bucket& bucket = buckets_[i];
      auto* const place = std::find(bucket.rows, bucket.rows + 4, -1);
      if (place != bucket.rows + 4) {
        *place = row;
        bucket.numbers[place - bucket.rows] = number;
        return;
      }
      num_overflowed_ += !bucket.has_overflowed;
      bucket.has_overflowed = true;
    }
  }

  void Rehash(int64_t num_buckets) {
    std::vector<Bucket> old(static_cast<size_t>(num_buckets));
    old.swap(buckets_);
    num_overflowed_ = 0;
    for (const Bucket& bucket : old) {
      for (int i = 0; i < 4; ++i) {
        if (bucket.rows[i] >= 0) Put(bucket.numbers[i], bucket.rows[i]);
      }
    }
  }

  std::vector<Bucket> buckets_ = std::vector<Bucket>(1);
  int64_t size_ = 0;
  int64_t num_overflowed_ = 0;  // buckets
};

}  // namespace tessera

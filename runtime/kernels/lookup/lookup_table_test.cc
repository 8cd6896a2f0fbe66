#include "runtime/kernels/lookup/lookup_table.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/tensor/tensor.h"

namespace tessera {
namespace {

LookupTable::Options DenseOptions(Tensor empty_key, Tensor deleted_key, Shape value_shape) {
  LookupTable::Options options;
  options.key_dtype = empty_key.dtype();
  options.key_shape = empty_key.shape();
  options.value_dtype = DType::kFloat;
  options.value_shape = value_shape;
  options.allocator = HeapAllocator();
  options.empty_key = std::move(empty_key);
  options.deleted_key = std::move(deleted_key);
  options.initial_num_buckets = 8;
  return options;
}

LookupTable::Options IntegerOptions() {
  return DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape());
}

absl::Status Insert(LookupTable& table, std::initializer_list<int64_t> keys,
                    std::initializer_list<float> values) {
  return table.Insert(Tensor::Vector<int64_t>(keys), Tensor::Vector<float>(values));
}

// The buckets must be these, and form matrices of as many rows.
template <typename K>
void ExpectBuckets(const LookupTable& table, const std::vector<K>& keys,
                   const std::vector<float>& values) {
  Tensor exported_keys, exported_values;
  ASSERT_TRUE(table.Export(HeapAllocator(), &exported_keys, &exported_values).ok());
  ASSERT_EQ(exported_keys.rank(), 2);
  ASSERT_EQ(exported_values.rank(), 2);
  EXPECT_EQ(exported_keys.dim(0), exported_values.dim(0));
  EXPECT_EQ(exported_keys.flat<K>(), absl::MakeConstSpan(keys));
  EXPECT_EQ(exported_values.flat<float>(), absl::MakeConstSpan(values));
}

// The buckets of the tests up to the next comment are TensorFlow's.
TEST(LookupTableTest, DenseTableExportsItsBuckets) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  ExpectBuckets<int64_t>(*table, {-1, -1, -1, -1, -1, -1, -1, -1}, {0, 0, 0, 0, 0, 0, 0, 0});

  ASSERT_TRUE(Insert(*table, {3, 11, 19, 4}, {1, 2, 3, 4}).ok());
  ExpectBuckets<int64_t>(*table, {-1, -1, -1, 3, 11, 4, 19, -1}, {0, 0, 0, 1, 2, 4, 3, 0});

  ASSERT_TRUE(table->Remove(Tensor::Vector<int64_t>({11})).ok());
  ExpectBuckets<int64_t>(*table, {-1, -1, -1, 3, -2, 4, 19, -1}, {0, 0, 0, 1, 2, 4, 3, 0});
  EXPECT_EQ(table->size(), 3);

  ASSERT_TRUE(Insert(*table, {27}, {8}).ok());
  ExpectBuckets<int64_t>(*table, {-1, -1, -1, 3, 27, 4, 19, -1}, {0, 0, 0, 1, 8, 4, 3, 0});

  ASSERT_TRUE(Insert(*table, {35, 43, 51, 1, 2, -7}, {5, 1, 2, 3, 4, 5}).ok());
  ExpectBuckets<int64_t>(*table, {-1, 1, 2, 3, 4, -1, 19, -1, -1, 35, -7, 27, 43, 51, -1, -1},
                         {0, 3, 4, 1, 4, 0, 3, 0, 0, 5, 5, 8, 1, 2, 0, 0});
  EXPECT_EQ(table->size(), 10);
}

TEST(LookupTableTest, DenseTableHashesStringsAndRows) {
  auto strings =
      LookupTable::Make(DenseOptions(Tensor::Scalar(""), Tensor::Scalar("x"), Shape())).value();
  ASSERT_TRUE(strings
                  ->Insert(Tensor::Vector<std::string>({"a", "b", "hello", "tensor", "flow"}),
                           Tensor::Vector<float>({1, 2, 3, 4, 5}))
                  .ok());
  ExpectBuckets<std::string>(*strings, {"", "", "b", "hello", "a", "tensor", "flow", ""},
                             {0, 0, 2, 3, 1, 4, 5, 0});

  auto rows = LookupTable::Make(DenseOptions(Tensor::Vector<int64_t>({0, 0}),
                                             Tensor::Vector<int64_t>({1, 1}), Shape{2}))
                  .value();
  ASSERT_TRUE(rows->Insert(Tensor::Of<int64_t>({3, 2}, {1, 2, 3, 4, -1, 5}),
                           Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}))
                  .ok());
  ExpectBuckets<int64_t>(*rows, {0, 0, 0, 0, 0, 0, 1, 2, -1, 5, 0, 0, 0, 0, 3, 4},
                         {0, 0, 0, 0, 0, 0, 1, 2, 5, 6, 0, 0, 0, 0, 3, 4});
}

TEST(LookupTableTest, DenseTableKeepsTheBucketsThatItIsGiven) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({4, 1}, {-2, -1, -1, 3}),
                           Tensor::Of<float>({4, 1}, {5, 0, 0, 7}))
                  .ok());
  EXPECT_EQ(table->size(), 1);
  ExpectBuckets<int64_t>(*table, {-2, -1, -1, 3}, {5, 0, 0, 7});
}

// A key behind a bucket that became free stays where it is.
TEST(LookupTableTest, DenseTableHasEachKeyOnce) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  ASSERT_TRUE(Insert(*table, {3, 11, 19}, {1, 2, 3}).ok());
  ASSERT_TRUE(table->Remove(Tensor::Vector<int64_t>({11})).ok());
  ASSERT_TRUE(Insert(*table, {19}, {9}).ok());
  EXPECT_EQ(table->size(), 2);
  ExpectBuckets<int64_t>(*table, {-1, -1, -1, 3, -2, -1, 19, -1}, {0, 0, 0, 1, 2, 0, 9, 0});
}

TEST(LookupTableTest, DenseTableFindsKeysThatAreInTheWrongBuckets) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({4, 1}, {7, -1, 7, 5}),
                           Tensor::Of<float>({4, 1}, {1, 0, 2, 3}))
                  .ok());
  EXPECT_EQ(table->size(), 2);
  EXPECT_EQ(table->Find(Tensor::Vector<int64_t>({5, 6, 7}), Tensor::Scalar(-1.f), HeapAllocator())
                ->flat<float>(),
            absl::MakeConstSpan({3.f, -1.f, 2.f}));
}

// Without an empty bucket the search for a missing key ends after all of them.
TEST(LookupTableTest, DenseTableSearchesFullBucketsOnce) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({4, 1}, {0, 1, 2, -2}),
                           Tensor::Of<float>({4, 1}, {1, 2, 3, 4}))
                  .ok());
  EXPECT_EQ(table->Find(Tensor::Vector<int64_t>({7, 2}), Tensor::Scalar(-1.f), HeapAllocator())
                ->flat<float>(),
            absl::MakeConstSpan({-1.f, 3.f}));
  ASSERT_TRUE(Insert(*table, {7}, {8}).ok());
  EXPECT_EQ(table->size(), 4);
}

TEST(LookupTableTest, DenseTableRefusesReservedKeysAndBadSizes) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  for (const int64_t reserved : {-1, -2}) {
    const Tensor key = Tensor::Vector<int64_t>({reserved});
    EXPECT_EQ(Insert(*table, {5, reserved}, {1, 2}).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(table->Remove(key).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(table->Find(key, Tensor::Scalar(0.f), HeapAllocator()).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(table->size(), 0);
  for (const int64_t count : {-4, 0, 2, 3, 6}) {
    LookupTable::Options options = IntegerOptions();
    options.initial_num_buckets = count;
    EXPECT_EQ(LookupTable::Make(options).status().code(), absl::StatusCode::kInvalidArgument)
        << count;
  }
  for (const float factor : {-1.f, 0.f, 1.f, std::nanf("")}) {
    LookupTable::Options options = IntegerOptions();
    options.max_load_factor = factor;
    EXPECT_EQ(LookupTable::Make(options).status().code(), absl::StatusCode::kInvalidArgument)
        << factor;
  }
  LookupTable::Options options = IntegerOptions();
  options.max_load_factor = 1e-30f;
  EXPECT_EQ(Insert(*LookupTable::Make(options).value(), {5}, {1}).code(),
            absl::StatusCode::kResourceExhausted);
}

// TensorFlow exports a dense table of scalar keys as a matrix of one column.
TEST(LookupTableTest, DenseTableTakesTheBucketsOfScalarKeysAndVectorValues) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({4, 1}, {-1, 5, -2, 7}),
                           Tensor::Of<float>({4, 2}, {0, 0, 1, 2, 0, 0, 3, 4}))
                  .ok());

  EXPECT_EQ(table->size(), 2);
  const Tensor found = table
                           ->Find(Tensor::Vector<int64_t>({7, 6, 5}),
                                  Tensor::Vector<float>({-1, -1}), HeapAllocator())
                           .value();
  EXPECT_EQ(found.shape(), (Shape{3, 2}));
  EXPECT_EQ(found.flat<float>(), absl::MakeConstSpan({3.f, 4.f, -1.f, -1.f, 1.f, 2.f}));
}

TEST(LookupTableTest, DenseTableTakesTheBucketsOfKeysAndValuesThatAreMatrices) {
  auto table = LookupTable::Make(DenseOptions(Tensor::Of<int64_t>({2, 1}, {0, 0}),
                                              Tensor::Of<int64_t>({2, 1}, {-1, -1}), Shape{1, 2}))
                   .value();

  ASSERT_TRUE(table
                  ->Import(Tensor::Of<int64_t>({2, 2}, {0, 0, 3, 4}),
                           Tensor::Of<float>({2, 2}, {0, 0, 5, 6}))
                  .ok());

  EXPECT_EQ(table->size(), 1);
  const Tensor found = table
                           ->Find(Tensor::Of<int64_t>({1, 2, 1}, {3, 4}),
                                  Tensor::Of<float>({1, 2}, {0, 0}), HeapAllocator())
                           .value();
  EXPECT_EQ(found.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(found.flat<float>(), absl::MakeConstSpan({5.f, 6.f}));
}

TEST(LookupTableTest, DenseTableTakesAnExportWithoutBuckets) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  ASSERT_TRUE(table->Import(Tensor::Of<int64_t>({0, 1}, {}), Tensor::Of<float>({0, 2}, {})).ok());

  EXPECT_EQ(table->size(), 0);
}

TEST(LookupTableTest, DenseTableRefusesBucketsThatDoNotFit) {
  auto table = LookupTable::Make(
                   DenseOptions(Tensor::Scalar<int64_t>(-1), Tensor::Scalar<int64_t>(-2), Shape{2}))
                   .value();

  EXPECT_EQ(
      table->Import(Tensor::Of<int64_t>({2, 1}, {5, 6}), Tensor::Of<float>({1, 2}, {1, 2})).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      table->Import(Tensor::Of<int64_t>({1, 1}, {5}), Tensor::Of<float>({1, 3}, {1, 2, 3})).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      table->Import(Tensor::Of<int32_t>({1, 1}, {5}), Tensor::Of<float>({1, 2}, {1, 2})).code(),
      absl::StatusCode::kInvalidArgument);
}

// All keys would be the empty one, and a look-up would find no value for as many as there are.
TEST(LookupTableTest, DenseTableRefusesKeysWithoutElements) {
  LookupTable::Options options =
      DenseOptions(Tensor::Vector<int64_t>({}), Tensor::Scalar<int64_t>(-2), Shape());
  options.deleted_key = std::nullopt;
  EXPECT_EQ(LookupTable::Make(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LookupTableTest, DenseTableTakesNothingButExports) {
  auto table = LookupTable::Make(IntegerOptions()).value();
  EXPECT_EQ(table->Import(Tensor::Vector<int64_t>({5, 6}), Tensor::Vector<float>({1, 2})).code(),
            absl::StatusCode::kInvalidArgument);
}

// The default value of a look-up has the shape of one value or that of the result. Which tables
// read it element by element is TensorFlow's choice.
TEST(LookupTableTest, DefaultValuesHaveOneOfTwoShapes) {
  LookupTable::Options hashed = IntegerOptions();
  hashed.empty_key = hashed.deleted_key = std::nullopt;
  LookupTable::Options filled_once = hashed;
  filled_once.write_once = true;
  const Tensor keys = Tensor::Vector<int64_t>({4, 5});
  for (const auto& [options, last] :
       {std::pair(hashed, -2.f), std::pair(filled_once, -1.f), std::pair(IntegerOptions(), -1.f)}) {
    auto table = LookupTable::Make(options).value();
    if (options.write_once) {
      ASSERT_TRUE(table->Import(Tensor::Vector<int64_t>({1}), Tensor::Vector<float>({1})).ok());
    }
    const auto find = [&](const Tensor& default_value) {
      return table->Find(keys, default_value, HeapAllocator());
    };
    EXPECT_EQ(find(Tensor::Vector<float>({-1, -2}))->flat<float>(),
              absl::MakeConstSpan({-1.f, last}));
    EXPECT_EQ(find(Tensor::Scalar(-1.f))->flat<float>(), absl::MakeConstSpan({-1.f, -1.f}));
    for (const Tensor& other : {Tensor::Vector<float>({-1}), Tensor::Vector<float>({-1, -2, -3}),
                                Tensor::Of<float>({2, 1}, {-1, -2})}) {
      EXPECT_EQ(find(other).status().code(), absl::StatusCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace tessera

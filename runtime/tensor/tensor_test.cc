#include "runtime/tensor/tensor.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <string>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/testing/counting_allocator.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FailingAllocator : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t) override {
    return absl::ResourceExhaustedError("arena is full");
  }
};

TEST(TensorTest, DefaultHasNoValue) {
  Tensor t;
  EXPECT_FALSE(t.has_value());
  EXPECT_EQ(t.num_elements(), 0);
  EXPECT_EQ(t.size_bytes(), 0u);
  EXPECT_EQ(t.ToString(), "<no value>");
  EXPECT_FALSE(t.DeepCopy()->has_value());
}

TEST(TensorTest, EveryTypeAndSizeIsAllocatedAligned) {
  for (int i = 1; i <= static_cast<int>(DType::kUint2); ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const int64_t n : {1, 3, 17, 1000, 300000}) {
      const auto t = Tensor::Allocate(dtype, {n});
      ASSERT_TRUE(t.ok()) << DTypeName(dtype);
      EXPECT_EQ(t->num_elements(), n);
      EXPECT_EQ(t->size_bytes(), n * DTypeSize(dtype));
      if (IsTriviallyCopyable(dtype)) {
        EXPECT_TRUE(t->IsAligned()) << DTypeName(dtype) << n;
      }
      EXPECT_TRUE(t->CanWriteInPlace());
    }
  }
}

TEST(TensorTest, ImpossibleSizesAreErrors) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  using absl::StatusCode;
  EXPECT_EQ(Tensor::Allocate(DType::kInvalid, {1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(MakeRef(DType::kFloat), {1}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {kMax}).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {kMax, kMax}).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {-1}).status().code(), StatusCode::kResourceExhausted);
  const absl::Status status = Tensor::Allocate(DType::kUint8, {kMax / 2}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("uint8 and shape [4611686018427387903]"));
}

TEST(TensorTest, AllocatorProvidesTheBytes) {
  CountingAllocator counting;
  ASSERT_TRUE(Tensor::Allocate(DType::kFloat, {4}, &counting).ok());
  EXPECT_EQ(counting.count, 1);
  // No bytes to provide.
  ASSERT_TRUE(Tensor::Allocate(DType::kFloat, {0}, &counting).ok());
  EXPECT_EQ(counting.count, 1);
  FailingAllocator failing;
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {4}, &failing).status().message(), "arena is full");
}

TEST(TensorTest, WeightsHaveTheirMemoryAtAnySize) {
  for (int64_t size : {0, 1, 100, 1 << 20, (9 << 20) + 5}) {
    Tensor t = Tensor::Allocate(DType::kUint8, {size}, WeightsAllocator()).value();
    ASSERT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % kBufferAlignment, 0);
    std::fill_n(t.data<uint8_t>(), size, 7);
    EXPECT_EQ(std::count(t.data<uint8_t>(), t.data<uint8_t>() + size, 7), size);
    EXPECT_TRUE(size == 0 || t.CanWriteInPlace());
  }
  EXPECT_EQ(Tensor::Allocate(DType::kUint8, {int64_t{1} << 62}, WeightsAllocator()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// Blocks that share huge pages, blocks of several, and one beyond what is reserved at a time.
TEST(TensorTest, WeightsKeepTheirValuesWhenTheirNeighboursAreFreed) {
  constexpr int64_t kMegabyte = 1 << 20;
  const auto is_all = [](const Tensor& t, uint8_t value) {
    return std::count(t.data<uint8_t>(), t.data<uint8_t>() + t.num_elements(), value) ==
           t.num_elements();
  };
  std::vector<Tensor> tensors;
  for (int64_t size : {kMegabyte, kMegabyte / 16, 9 * kMegabyte / 4, 3 * kMegabyte + 5,
                       kMegabyte / 2, 70 * kMegabyte, kMegabyte, 40 * kMegabyte}) {
    Tensor t = Tensor::Allocate(DType::kUint8, {size}, WeightsAllocator()).value();
    std::fill_n(t.data<uint8_t>(), size, static_cast<uint8_t>(tensors.size() + 1));
    tensors.push_back(std::move(t));
  }
  for (size_t i = 0; i < tensors.size(); i += 2) tensors[i] = Tensor();
  for (size_t i = 1; i < tensors.size(); i += 2) {
    EXPECT_TRUE(is_all(tensors[i], static_cast<uint8_t>(i + 1))) << i;
  }
}

// What the last part of a block leaves of its huge page is the next one's.
TEST(TensorTest, WeightsLieSideBySide) {
  constexpr int64_t kSize = 5 << 18, kCount = 200;  // more than is reserved at a time
  std::vector<Tensor> tensors;
  int64_t adjacent = 0;
  for (int i = 0; i < kCount; ++i) {
    tensors.push_back(Tensor::Allocate(DType::kUint8, {kSize}, WeightsAllocator()).value());
    adjacent += i > 0 && tensors[i].raw() == tensors[i - 1].raw() + kSize;
  }
  EXPECT_GT(adjacent, kCount * 9 / 10);
}

TEST(TensorTest, EmptyTensorsHaveAPointer) {
  const Tensor t = *Tensor::Allocate(DType::kFloat, {3, 0});
  EXPECT_TRUE(t.has_value());
  EXPECT_NE(t.raw(), nullptr);
  EXPECT_TRUE(t.flat<float>().empty());
  EXPECT_EQ(t.SubSlice(1).shape(), Shape{0});
  EXPECT_EQ(t.Slice(1, 3).shape(), (Shape{2, 0}));
  EXPECT_EQ(t.ToString(), "float[3,0] []");
}

TEST(TensorTest, ZerosAreZero) {
  EXPECT_THAT(Tensor::Zeros(DType::kInt64, {1000})->flat<int64_t>(), Each(0));
  EXPECT_THAT(Tensor::Zeros(DType::kString, {3})->flat<std::string>(), Each(""));
}

TEST(TensorTest, FactoriesFillRowMajor) {
  EXPECT_EQ(Tensor::Scalar(2.5f).ToString(), "float[] 2.5");
  EXPECT_EQ(Tensor::Scalar("a\nb").ToString(), "string[] \"a\\nb\"");
  EXPECT_EQ(Tensor::Scalar("Gr\u00fc\u00dfe \u4f60 \U0001f600\n").ToString(),
            "string[] \"Gr\u00fc\u00dfe \u4f60 \U0001f600\\n\"");
  EXPECT_EQ(Tensor::Scalar("\xff\xd8").ToString(), "string[] \"\\377\\330\"");
  EXPECT_EQ(Tensor::Scalar("\xc0\xaf").ToString(), "string[] \"\\300\\257\"") << "a longer form";
  EXPECT_EQ(Tensor::Scalar("\xed\xa0\x80").ToString(), "string[] \"\\355\\240\\200\"")
      << "a surrogate";
  EXPECT_EQ(Tensor::Scalar("\xf4\x90\x80\x80").ToString(), "string[] \"\\364\\220\\200\\200\"")
      << "beyond U+10FFFF";
  EXPECT_EQ(Tensor::Scalar("a\xe4\xbd").ToString(), "string[] \"a\\344\\275\"") << "cut";
  EXPECT_EQ((Tensor::Of<int32_t>({2, 2}, {1, 2, 3, 4})).ToString(), "int32[2,2] [[1 2] [3 4]]");
  EXPECT_EQ((Tensor::Vector<bool>({true, false})).ToString(), "bool[2] [true false]");
  EXPECT_EQ(Tensor::Scalar(std::complex<double>(1, -2)).ToString(), "complex128[] (1,-2)");
  EXPECT_EQ(Tensor::Scalar(Eigen::bfloat16(0.5f)).ToString(), "bfloat16[] 0.5");
  EXPECT_EQ(Tensor::Scalar(qint8{-3}).ToString(), "qint8[] -3");
}

TEST(TensorTest, LongTensorsArePrintedInPart) {
  const Tensor t = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.ToString(4), "int32[2,3] [[1 2 3] [4...]]");
  EXPECT_EQ(t.ToString(3), "int32[2,3] [[1 2 3]...]");
  // A long dimension without elements must not be walked.
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {int64_t{1} << 40, 0})->ToString(),
            "float[1099511627776,0] []");
}

TEST(TensorTest, SlicesShareTheBuffer) {
  Tensor t = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor rows = t.Slice(1, 3);
  Tensor row = t.SubSlice(2);
  EXPECT_THAT(rows.flat<float>(), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(row.flat<float>(), ElementsAre(5, 6));
  EXPECT_EQ(row.shape(), Shape{2});
  EXPECT_TRUE(row.SharesBufferWith(t));
  row.flat<float>()[0] = 9;
  EXPECT_EQ(t.flat<float>()[4], 9);
  // A slice keeps the memory after its parent is gone.
  t = Tensor();
  EXPECT_EQ(rows.flat<float>()[2], 9);
}

TEST(TensorTest, StringSlicesShareTheStrings) {
  Tensor t = Tensor::Vector<std::string>({"a", std::string(100, 'b'), "c"});
  const Tensor tail = t.Slice(1, 3);
  t = Tensor();
  EXPECT_THAT(tail.flat<std::string>(), ElementsAre(std::string(100, 'b'), "c"));
}

TEST(TensorTest, OnlyASoleOwnerMayWrite) {
  Tensor t = Tensor::Scalar(1.0f);
  EXPECT_TRUE(t.CanWriteInPlace());
  {
    const Tensor copy = t;
    EXPECT_FALSE(t.CanWriteInPlace());
  }
  EXPECT_TRUE(t.CanWriteInPlace());
}

TEST(TensorTest, WrappedMemoryKeepsItsOwnerAndItsPermission) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  std::weak_ptr<std::vector<float>> watch = owner;
  char* data = reinterpret_cast<char*>(owner->data());
  Tensor t = Tensor::View(DType::kFloat, {2}, WrapBuffer(std::move(owner), data, 12, false), 4);
  EXPECT_THAT(t.flat<float>(), ElementsAre(2, 3));
  EXPECT_FALSE(t.CanWriteInPlace());
  EXPECT_FALSE(watch.expired());
  t = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, ReshapeKeepsElements) {
  const Tensor t = Tensor::Vector<int32_t>({1, 2, 3, 4});
  EXPECT_EQ(t.Reshaped({2, 2})->ToString(), "int32[2,2] [[1 2] [3 4]]");
  EXPECT_EQ(t.Reshaped({3}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorTest, ReshapeInPlaceKeepsTheBuffer) {
  Tensor t = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const char* const bytes = t.raw();
  t.Reshape({1, 1, 1, 1, 1, 1, 3, 2});
  EXPECT_EQ(t.shape(), Shape({1, 1, 1, 1, 1, 1, 3, 2}));
  EXPECT_EQ(t.raw(), bytes);
  EXPECT_EQ(t.flat<int32_t>()[5], 6);
}

TEST(TensorTest, ReallocateReplacesTheValueAndAnErrorLeavesNone) {
  Tensor t = Tensor::Vector<int32_t>({1, 2});
  const Tensor other_holder = t;
  ASSERT_TRUE(t.Reallocate(DType::kString, {3}, HeapAllocator()).ok());
  EXPECT_EQ(t.flat<std::string>()[2], "");
  EXPECT_EQ(other_holder.flat<int32_t>()[1], 2);
  EXPECT_FALSE(t.Reallocate(DType::kFloat, {int64_t{1} << 62}, HeapAllocator()).ok());
  EXPECT_FALSE(t.has_value());
  EXPECT_EQ(t.num_elements(), 0);
}

TEST(TensorTest, BitcastKeepsBytes) {
  const Tensor t = Tensor::Scalar(1.0f).Bitcast(DType::kUint32, {});
  EXPECT_EQ(t.scalar<uint32_t>(), 0x3f800000u);
}

TEST(TensorTest, DeepCopiesAreApart) {
  Tensor numbers = Tensor::Vector<float>({1, 2});
  Tensor strings = Tensor::Vector<std::string>({"x", "y"});
  const Tensor number_copy = *numbers.DeepCopy();
  const Tensor string_copy = *strings.DeepCopy();
  numbers.flat<float>()[0] = 7;
  strings.flat<std::string>()[0] = "z";
  EXPECT_THAT(number_copy.flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(string_copy.flat<std::string>(), ElementsAre("x", "y"));
}

TEST(TensorTest, TotalBytesCountsLongStrings) {
  const Tensor t = Tensor::Vector<std::string>({"short", std::string(1000, 'x')});
  EXPECT_GE(t.total_bytes(), 2 * sizeof(std::string) + 1001);
  EXPECT_LT(t.total_bytes(), 2 * sizeof(std::string) + 1100);
}

struct Counted : Resource {
  explicit Counted(int* deaths) : deaths(deaths) {}
  ~Counted() override { ++*deaths; }
  std::string DebugString() const override { return "counted"; }
  int* deaths;
};

TEST(TensorTest, HandlesReleaseTheirResources) {
  int deaths = 0;
  Tensor t = *Tensor::Allocate(DType::kResource, {2});
  t.flat<ResourceHandle>()[1].resource = MakeRefCounted<Counted>(&deaths);
  Tensor copy = *t.DeepCopy();
  t = Tensor();
  EXPECT_EQ(deaths, 0);
  copy = Tensor();
  EXPECT_EQ(deaths, 1);
}

TEST(IntElementsTest, WidensInt32AndReadsInt64) {
  const Tensor narrow =
      Tensor::Of<int32_t>({2, 2}, {1, -2, std::numeric_limits<int32_t>::min(), 4});
  EXPECT_THAT(*IntElements(narrow), ElementsAre(1, -2, std::numeric_limits<int32_t>::min(), 4));
  EXPECT_THAT(*IntElements(Tensor::Scalar(int64_t{1} << 40)), ElementsAre(int64_t{1} << 40));
  EXPECT_THAT(*IntElements(Tensor::Vector<int32_t>({})), ElementsAre());
  EXPECT_FALSE(IntElements(Tensor::Scalar(1.0f)).has_value());
  EXPECT_FALSE(IntElements(Tensor::Scalar<int16_t>(1)).has_value());
  EXPECT_FALSE(IntElements(Tensor()).has_value());
}

TEST(TensorDeathTest, WrongTypeIsABug) {
  const Tensor t = Tensor::Scalar(1.0f);
  EXPECT_DEATH(t.flat<int32_t>(), "float and shape \\[\\] used as int32");
}

TEST(TensorDeathTest, ViewBeyondItsBufferIsABug) {
  EXPECT_DEATH(Tensor::View(DType::kFloat, {4}, AllocateHeapBuffer(12)), "at byte 0 of 12");
}

}  // namespace
}  // namespace tessera

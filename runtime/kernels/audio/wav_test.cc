#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using std::string_literals::operator""s;

std::string Integer(uint32_t value, int bytes) {
  std::string written;
  for (int i = 0; i < bytes; ++i) written.push_back(static_cast<char>(value >> 8 * i));
  return written;
}

std::string Chunk(absl::string_view id, uint32_t size, absl::string_view bytes) {
  return absl::StrCat(id, Integer(size, 4), bytes);
}

// A file of one channel with a format of `format_size` bytes, 16 or more, and then `chunks`.
std::string File(const std::string& chunks, uint32_t format_size = 16) {
  const std::string format =
      absl::StrCat(Integer(1, 2), Integer(1, 2), Integer(8000, 4), Integer(16000, 4), Integer(2, 2),
                   Integer(16, 2), std::string(format_size - 16, '\0'));
  return absl::StrCat("RIFF", Integer(0, 4), "WAVE", Chunk("fmt ", format_size, format), chunks);
}

// Returns the number of samples that are read, or -1 for INVALID_ARGUMENT.
int64_t Samples(const std::string& file) {
  const Tensor contents = Tensor::Scalar(file);
  const auto sound = KernelRunner::Create("DecodeWav", {contents}).value().Run({contents});
  if (sound.ok()) return sound->front().dim(0);
  EXPECT_EQ(sound.status().code(), absl::StatusCode::kInvalidArgument) << sound.status();
  return -1;
}

const std::string kData = Chunk("data", 4, "\1\0\2\0"s);

// The expected answers are TensorFlow's.
TEST(DecodeWavTest, FormatsHave16Or18Bytes) {
  EXPECT_EQ(Samples(File(kData, 16)), 2);
  EXPECT_EQ(Samples(File(kData, 18)), 2);
  EXPECT_EQ(Samples(File(kData, 17)), -1);
  EXPECT_EQ(Samples(File(kData, 40)), -1);
}

TEST(DecodeWavTest, ChunksFollowTheSamples) {
  EXPECT_EQ(Samples(File(kData + Chunk("LIST", 3, "abc"))), 2);
  EXPECT_EQ(Samples(File(kData + Chunk("LIST", 30, "abc"))), 2);
  EXPECT_EQ(Samples(File(kData + Chunk("LIST", 0x80000000, "abc"))), -1);
  EXPECT_EQ(Samples(File(kData + "\0"s)), -1);
  EXPECT_EQ(Samples(File(kData + kData)), -1);
}

TEST(DecodeWavTest, SamplesEndBehindTheLastCompleteFrame) {
  EXPECT_EQ(Samples(File(Chunk("data", 5, "\1\0\2\0"s))), 2);
  EXPECT_EQ(Samples(File(Chunk("data", 5, "\1\0\2\0\3"s))), -1);
  EXPECT_EQ(Samples(File(Chunk("data", 6, "\1\0\2\0"s))), -1);
  EXPECT_EQ(Samples(File(Chunk("LIST", 30, "abc"))), -1);
}

}  // namespace
}  // namespace tessera

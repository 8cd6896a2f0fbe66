// Strings that are packed and unpacked; what is expected of damaged ones is what TensorFlow gives.
#include <zlib.h>

#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::string Packed(const std::string& text, bool gzip) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

absl::StatusOr<std::string> Unpacked(const std::string& bytes, bool gzip) {
  const AttrMap attrs = {{"compression_type", std::string(gzip ? "GZIP" : "ZLIB")}};
  const auto result = RunOp("DecodeCompressed", {Tensor::Scalar(std::string(bytes))}, attrs);
  if (!result.ok()) return result.status();
  return result->scalar<std::string>();
}

TEST(DecodeCompressedTest, FilesOfSeveralMembersAreReadWhole) {
  const std::string hello = Packed("hello", true), more = Packed("more", true);
  const std::string none = Packed("", true);
  EXPECT_EQ(*Unpacked(hello + more, true), "hellomore");
  EXPECT_EQ(*Unpacked(hello + none + more, true), "hello");
  EXPECT_EQ(*Unpacked(none + hello, true), "");
  EXPECT_TRUE(absl::IsDataLoss(Unpacked(hello + "xyzw", true).status()));
  EXPECT_EQ(*Unpacked(Packed("hello", false) + Packed("more", false), false), "hello");
  EXPECT_EQ(*Unpacked(Packed("hello", false) + "xyzw", false), "hello");
}

TEST(DecodeCompressedTest, WhatIsCutOffGivesWhatIsThere) {
  for (const bool gzip : {false, true}) {
    const std::string hello = Packed("hello", gzip);
    EXPECT_EQ(*Unpacked("", gzip), "");
    EXPECT_EQ(*Unpacked(hello.substr(0, 2), gzip), "");
    EXPECT_EQ(*Unpacked(hello.substr(0, hello.size() - 3), gzip), "hello");
    std::string damaged = hello;
    damaged[damaged.size() - 6] ^= 1;
    EXPECT_TRUE(absl::IsDataLoss(Unpacked(damaged, gzip).status()));
    EXPECT_TRUE(absl::IsDataLoss(Unpacked("abcdefgh", gzip).status()));
  }
  const std::string zeros(1 << 20, '\0');
  EXPECT_EQ(*Unpacked(Packed(zeros, true), true), zeros) << "more than is guessed";
}

}  // namespace
}  // namespace tessera

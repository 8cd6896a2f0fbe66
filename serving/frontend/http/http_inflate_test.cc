#include "serving/frontend/http/http_inflate.h"

#include <zlib.h>

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// What Inflate makes of it, or the code of its error.
std::string Inflated(absl::string_view compressed, size_t max_bytes = 1 << 20) {
  std::string out = "old";
  const absl::Status status = InflateGzip(compressed, max_bytes, &out);
  if (status.ok()) return out;
  EXPECT_EQ(out, "");
  return absl::StatusCodeToString(status.code());
}

TEST(HttpInflateTest, InflatesWhatGzipMade) {
  std::mt19937 random(1);
  std::string noise(300'000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(1 << 20, 'a'), noise}) {
    EXPECT_TRUE(Inflated(Gzip(text)) == text) << text.size();
  }
  EXPECT_EQ(Inflated(Gzip("one ") + Gzip("") + Gzip("two")), "one two");
}

TEST(HttpInflateTest, RefusesWhatIsNoGzip) {
  const std::string good = Gzip(std::string(100'000, 'a') + "tail");
  EXPECT_EQ(Inflated(""), "INVALID_ARGUMENT");
  EXPECT_EQ(Inflated("no gzip at all"), "INVALID_ARGUMENT");
  EXPECT_EQ(Inflated(good + "more"), "INVALID_ARGUMENT");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Inflated(good.substr(0, size)), "INVALID_ARGUMENT") << size;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x10;
    Inflated(bad);  // whatever comes of it, it comes to an end
  }
}

TEST(HttpInflateTest, InflatesWhatHttpCallsDeflate) {
  const std::string text(100'000, 'a');
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  packed.resize(size);
  std::string out;
  EXPECT_TRUE(InflateZlib(packed, text.size(), &out).ok());
  EXPECT_EQ(out, text);
  EXPECT_TRUE(absl::IsInvalidArgument(InflateZlib(Gzip(text), text.size(), &out)));
  EXPECT_EQ(out, "");
}

TEST(HttpInflateTest, EndsAtTheLimit) {
  const std::string text(1000, 'a');
  EXPECT_EQ(Inflated(Gzip(text), 1000), text);
  EXPECT_EQ(Inflated(Gzip(text), 999), "INVALID_ARGUMENT");
  EXPECT_EQ(Inflated(Gzip(std::string(50 << 20, 'a')), 1 << 20), "INVALID_ARGUMENT");
  EXPECT_EQ(Inflated(Gzip(text) + Gzip(text), 1500), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace tessera::serving

#include "serving/frontend/http/http_inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// A format of compressed data, by the name of its content coding.
struct Format {
  absl::string_view name;
  int window_bits;  // of inflateInit2(), which choose the format
};
constexpr Format kGzipFormat = {"gzip", 16 + MAX_WBITS};
constexpr Format kZlibFormat = {"deflate", MAX_WBITS};
constexpr size_t kFirstBytes = 64 << 10;

absl::Status Inflate(absl::string_view compressed, const Format& format, size_t max_bytes,
                     std::string* out) {
  z_stream stream = {};
  if (inflateInit2(&stream, format.window_bits) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to inflate a body");
  }
  absl::Cleanup end = [&] { inflateEnd(&stream); };
  size_t consumed = 0, size = 0;
  out->resize(std::min(max_bytes, std::max(kFirstBytes, compressed.size())));
  while (true) {
    constexpr size_t kMaxStep = std::numeric_limits<uInt>::max();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + consumed));
    stream.avail_in = static_cast<uInt>(std::min(compressed.size() - consumed, kMaxStep));
    stream.next_out = reinterpret_cast<Bytef*>(out->data() + size);
    stream.avail_out = static_cast<uInt>(std::min(out->size() - size, kMaxStep));
    const uInt in = stream.avail_in, room = stream.avail_out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    consumed += in - stream.avail_in;
    size += room - stream.avail_out;
    if (code == Z_STREAM_END) {
      if (consumed == compressed.size()) break;
      if (inflateReset(&stream) != Z_OK) return absl::InternalError("zlib cannot be reset");
      continue;
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body is no ", format.name,
                       " data: ", stream.msg != nullptr ? stream.msg : "unknown error"));
    }
    if (stream.avail_out > 0) {
      if (consumed < compressed.size()) continue;
      return absl::InvalidArgumentError("the compressed data of the body ends early");
    }
    if (out->size() == max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body has more than ", max_bytes,
                       " bytes when inflated; a larger one must come without Content-Encoding"));
    }
    out->resize(std::min(max_bytes, out->size() * 2));
  }
  out->resize(size);
  return absl::OkStatus();
}

absl::Status InflateOrClear(absl::string_view compressed, const Format& format, size_t max_bytes,
                            std::string* out) {
  const absl::Status status = Inflate(compressed, format, max_bytes, out);
  if (!status.ok()) out->clear();
  return status;
}

}  // namespace

absl::Status InflateGzip(absl::string_view compressed, size_t max_bytes, std::string* out) {
  return InflateOrClear(compressed, kGzipFormat, max_bytes, out);
}

absl::Status InflateZlib(absl::string_view compressed, size_t max_bytes, std::string* out) {
  return InflateOrClear(compressed, kZlibFormat, max_bytes, out);
}

}  // namespace tessera::serving

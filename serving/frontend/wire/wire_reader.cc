#include "serving/frontend/wire/wire_reader.h"

#include <algorithm>
#include <cstring>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message_lite.h"
#include "google/protobuf/stubs/common.h"

namespace tessera::serving {
namespace {

constexpr int kMaxVarintBytes = 10;
constexpr int kMaxTagBytes = 5;
constexpr int kMaxLengthBytes = 5;

}  // namespace

WireReader::WireReader(absl::Span<const absl::string_view> chunks) : next_(chunks.data()) {
  for (const absl::string_view chunk : chunks) rest_ += chunk.size();
  NextChunk();
}

void WireReader::NextChunk() {
  while (rest_ > 0 && p_ == end_) {
    const absl::string_view chunk = *next_++;
    const uint64_t size = std::min<uint64_t>(chunk.size(), rest_);
    p_ = chunk.data();
    end_ = p_ + size;
    rest_ -= size;
  }
}

bool WireReader::ReadVarintSlowly(uint64_t* value) {
  uint64_t result = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (AtEnd()) return false;
    const uint8_t byte = NextByte();
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::ReadTag(uint32_t* tag) {
  uint32_t result = 0;
  for (int i = 0; i < kMaxTagBytes; ++i) {
    if (AtEnd()) return false;
    const uint8_t byte = NextByte();
    result |= static_cast<uint32_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *tag = result;
      return (result >> 3) != 0;
    }
  }
  return false;
}

bool WireReader::ReadLength(uint64_t* length) {
  uint64_t result = 0;
  for (int i = 0; i < kMaxLengthBytes; ++i) {
    if (AtEnd()) return false;
    const uint8_t byte = NextByte();
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *length = result;
      return result <= size();
    }
  }
  return false;
}

bool WireReader::ReadMessage(WireReader* contents) {
  uint64_t length;
  if (!ReadLength(&length)) return false;
  *contents = *this;
  const auto here = static_cast<uint64_t>(end_ - p_);
  if (length <= here) {
    contents->end_ = p_ + length;
    contents->rest_ = 0;
  } else {
    contents->rest_ = length - here;
  }
  Skip(length);
  return true;
}

bool WireReader::ReadText(absl::string_view* text, std::string* copy) {
  WireReader contents;
  if (!ReadMessage(&contents)) return false;
  if (contents.IsOnePiece()) {
    *text = contents.piece();
  } else {
    *copy = contents.ToString();
    *text = *copy;
  }
  return google::protobuf::internal::IsStructurallyValidUTF8(text->data(),
                                                             static_cast<int>(text->size()));
}

void WireReader::Skip(uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t here = std::min<uint64_t>(bytes, static_cast<uint64_t>(end_ - p_));
    p_ += here;
    bytes -= here;
    if (p_ == end_) NextChunk();
  }
}

void WireReader::CopyTo(char* out, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t here = std::min<uint64_t>(bytes, static_cast<uint64_t>(end_ - p_));
    std::memcpy(out, p_, here);
    out += here;
    p_ += here;
    bytes -= here;
    if (p_ == end_) NextChunk();
  }
}

std::string WireReader::ToString() const {
  std::string text(size(), '\0');
  WireReader(*this).CopyTo(text.data(), text.size());
  return text;
}

bool WireReader::MergeInto(google::protobuf::MessageLite* message, int depth) const {
  const std::string text = ToString();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(text.data()),
                                                static_cast<int>(text.size()));
  stream.SetRecursionLimit(depth);
  return message->MergeFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

bool WireReader::SkipField(uint32_t tag, int depth) {
  uint64_t ignored;
  switch (WireTypeOf(tag)) {
    case WireType::kVarint:
      return ReadVarint(&ignored);
    case WireType::kFixed64:
      if (size() < 8) return false;
      Skip(8);
      return true;
    case WireType::kFixed32:
      if (size() < 4) return false;
      Skip(4);
      return true;
    case WireType::kBytes: {
      WireReader contents;
      return ReadMessage(&contents);
    }
    case WireType::kStartGroup: {
      if (depth <= 0) return false;
      const uint32_t end = WireTag(tag >> 3, WireType::kEndGroup);
      for (uint32_t inner; ReadTag(&inner);) {
        if (WireTypeOf(inner) == WireType::kEndGroup) return inner == end;
        if (!SkipField(inner, depth - 1)) return false;
      }
      return false;
    }
    case WireType::kEndGroup:
      return false;
  }
  return false;
}

bool WireReader::SkipVarints() {
  for (uint64_t ignored; !AtEnd();) {
    if (!ReadVarint(&ignored)) return false;
  }
  return true;
}

}  // namespace tessera::serving

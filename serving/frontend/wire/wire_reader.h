// WireReader: reads the fields of a serialized protocol buffer message in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace tessera::serving {

// Wire types, see https://protobuf.dev/programming-guides/encoding.
enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};
constexpr uint32_t WireTag(uint32_t field, WireType type) {
  return field << 3 | static_cast<uint32_t>(type);
}
constexpr WireType WireTypeOf(uint32_t tag) { return static_cast<WireType>(tag & 7); }

// A position in a message, which may lie in several chunks of memory, and the end of that message.
//
//   WireReader in(chunks);
//   while (!in.AtEnd()) {
//     uint32_t tag;
//     if (!in.ReadTag(&tag)) return false;
//     switch (tag) {
//       case WireTag(1, WireType::kBytes): {
//         WireReader name;
//         if (!in.ReadMessage(&name)) return false;
//         ...
//       default:
//         if (!in.SkipField(tag, depth)) return false;
//
// Accepts and refuses the same bytes as the protocol buffer library: varints may be longer than
// they need to be, but lengths must not lead beyond the message. The bytes may be anything. A call
// that returns false has found malformed bytes; nothing may be read after that.
//
// A small value; a copy reads independently. The chunks must outlive all copies.
class WireReader {
 public:
  // How deep groups and messages may nest below a message.
  static constexpr int kMaxDepth = 100;

  // Reads an empty message.
  WireReader() = default;
  explicit WireReader(absl::Span<const absl::string_view> chunks);

  bool AtEnd() const { return p_ == end_; }
  // Returns the number of bytes left.
  uint64_t size() const { return static_cast<uint64_t>(end_ - p_) + rest_; }
  // Returns how many of them are contiguous from here; most often all of them.
  absl::string_view piece() const { return {p_, static_cast<size_t>(end_ - p_)}; }
  bool IsOnePiece() const { return rest_ == 0; }

  // Also returns false for a tag with field number 0.
  bool ReadTag(uint32_t* tag);
  // Bits beyond the 64th are dropped.
  bool ReadVarint(uint64_t* value);
  // Sets a reader to the contents of a field of type kBytes.
  bool ReadMessage(WireReader* contents);
  // Reads a string field, which must be UTF-8. *text is a view of the chunk if the string is
  // contiguous, else of *copy.
  bool ReadText(absl::string_view* text, std::string* copy);

  // These require that so many bytes are left.
  void Skip(uint64_t bytes);
  void CopyTo(char* out, uint64_t bytes);
  // Reads all bytes that are left.
  std::string ToString() const;
  // Lets the library parse all bytes that are left. Returns false if it refuses them.
  bool MergeInto(google::protobuf::MessageLite* message, int depth) const;

  // Skips the value of an unknown field after its tag. Groups may nest `depth` deep.
  bool SkipField(uint32_t tag, int depth);
  // Skips all bytes that are left, which must be varints.
  bool SkipVarints();

 private:
  bool ReadVarintSlowly(uint64_t* value);
  bool ReadLength(uint64_t* length);
  // Goes to the next chunk at the end of one. After this, p_ == end_ at the end of the message
  // alone.
  void NextChunk();
  uint8_t NextByte() {
    const auto byte = static_cast<uint8_t>(*p_++);
    if (p_ == end_) NextChunk();
    return byte;
  }

  const char* p_ = nullptr;
  const char* end_ = nullptr;                // end of the bytes that are contiguous at p_
  uint64_t rest_ = 0;                        // bytes of the message after end_
  const absl::string_view* next_ = nullptr;  // the chunks of these bytes
};

inline bool WireReader::ReadVarint(uint64_t* value) {
  if (p_ == end_) return false;
  const auto byte = static_cast<uint8_t>(*p_);
  if (byte >= 0x80) return ReadVarintSlowly(value);
  *value = byte;
  if (++p_ == end_) NextChunk();
  return true;
}

}  // namespace tessera::serving

// WireReader: the fields of a protocol buffer message, read where its bytes lie.
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

// As in https://protobuf.dev/programming-guides/encoding.
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

// A place in a message that lies in one or more chunks, and where the message ends.
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
// Accepts and refuses what the protocol buffer library does: numbers may be longer than they need
// to be, lengths may not lead beyond the message. The bytes may be anything. Calls that return
// false have met what is no message; nothing may be read after that.
//
// A small value: copies read on their own. The chunks must outlive all of them.
class WireReader {
 public:
  // How deep groups and messages may nest below a message.
  static constexpr int kMaxDepth = 100;

  // An empty message.
  WireReader() = default;
  explicit WireReader(absl::Span<const absl::string_view> chunks);

  bool AtEnd() const { return p_ == end_; }
  // Bytes left.
  uint64_t size() const { return static_cast<uint64_t>(end_ - p_) + rest_; }
  // Those of them that lie in one piece from here; all of them, most often.
  absl::string_view piece() const { return {p_, static_cast<size_t>(end_ - p_)}; }
  bool IsOnePiece() const { return rest_ == 0; }

  // False for tags of no field, too.
  bool ReadTag(uint32_t* tag);
  // More than 64 bits are cut.
  bool ReadVarint(uint64_t* value);
  // The contents of a field of type kBytes.
  bool ReadMessage(WireReader* contents);
  // The contents of a string field, which must be UTF-8. *text views the chunks if the string lies
  // in one piece, else *copy.
  bool ReadText(absl::string_view* text, std::string* copy);

  // These require that many bytes to be left.
  void Skip(uint64_t bytes);
  void CopyTo(char* out, uint64_t bytes);
  // All that is left.
  std::string ToString() const;
  // Lets the library read all that is left. False if it refuses.
  bool MergeInto(google::protobuf::MessageLite* message, int depth) const;

  // Skips what follows `tag`, whose field nobody knows. Groups may nest `depth` deep.
  bool SkipField(uint32_t tag, int depth);
  // Reads all the rest as varints and forgets them.
  bool SkipVarints();

 private:
  bool ReadVarintSlowly(uint64_t* value);
  bool ReadLength(uint64_t* length);
  // To the next chunk, at the end of one. Sets p_ == end_ at the end of the message alone.
  void NextChunk();
  uint8_t NextByte() {
    const auto byte = static_cast<uint8_t>(*p_++);
    if (p_ == end_) NextChunk();
    return byte;
  }

  const char* p_ = nullptr;
  const char* end_ = nullptr;                // of what can be read at p_
  uint64_t rest_ = 0;                        // bytes of the message behind end_
  const absl::string_view* next_ = nullptr;  // where they are
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

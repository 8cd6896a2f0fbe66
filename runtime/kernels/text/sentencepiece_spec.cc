#include "runtime/kernels/text/sentencepiece_spec.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using google::protobuf::internal::WireFormatLite;

// The fields of one message, in order.
class Fields {
 public:
  explicit Fields(absl::string_view message)
      : stream_(reinterpret_cast<const uint8_t*>(message.data()),
                static_cast<int>(message.size())) {}

  // Goes to the next field. Returns false at the end, or if the message is damaged.
  bool Next() {
    tag_ = stream_.ReadTag();
    if (tag_ == 0) {
      is_damaged_ = is_damaged_ || !stream_.ConsumedEntireMessage();
      return false;
    }
    switch (WireFormatLite::GetTagWireType(tag_)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return Check(stream_.ReadVarint64(&number_));
      case WireFormatLite::WIRETYPE_FIXED32:
        return Check(stream_.ReadLittleEndian32(&word_));
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
        uint32_t size = 0;
        return Check(stream_.ReadVarint32(&size) && size <= (1u << 31) - 1 &&
                     stream_.ReadString(&bytes_, static_cast<int>(size)));
      }
      default:
        return Check(WireFormatLite::SkipField(&stream_, tag_));
    }
  }

  int field() const { return WireFormatLite::GetTagFieldNumber(tag_); }
  int64_t number() const { return static_cast<int64_t>(number_); }
  float real() const { return std::bit_cast<float>(word_); }
  const std::string& bytes() const { return bytes_; }
  bool is_damaged() const { return is_damaged_; }

 private:
  bool Check(bool was_read) {
    is_damaged_ = is_damaged_ || !was_read;
    return was_read;
  }

  google::protobuf::io::CodedInputStream stream_;
  uint32_t tag_ = 0, word_ = 0;
  uint64_t number_ = 0;
  std::string bytes_;
  bool is_damaged_ = false;
};

absl::Status Damaged() {
  return absl::InvalidArgumentError("the model is no message of SentencePiece's");
}

absl::Status ReadPiece(absl::string_view message, SentencepieceSpec* spec) {
  SentencepieceSpec::Piece piece;
  Fields fields(message);
  while (fields.Next()) {
    if (fields.field() == 1) piece.text = fields.bytes();
    if (fields.field() == 2) piece.score = fields.real();
    if (fields.field() == 3) piece.kind = static_cast<SentencepieceSpec::Kind>(fields.number());
  }
  spec->pieces.push_back(std::move(piece));
  return fields.is_damaged() ? Damaged() : absl::OkStatus();
}

absl::Status ReadTraining(absl::string_view message, SentencepieceSpec* spec) {
  Fields fields(message);
  while (fields.Next()) {
    switch (fields.field()) {
      case 3:
        spec->algorithm = static_cast<SentencepieceSpec::Algorithm>(fields.number());
        break;
      case 24:
        spec->space_ends_words = fields.number() != 0;
        break;
      case 35:
        spec->has_byte_fallback = fields.number() != 0;
        break;
      case 44:
        spec->unknown_surface = fields.bytes();
        break;
      case 46:
        spec->bos = fields.bytes();
        break;
      case 47:
        spec->eos = fields.bytes();
        break;
      default:
        break;
    }
  }
  return fields.is_damaged() ? Damaged() : absl::OkStatus();
}

absl::Status ReadNormalizer(absl::string_view message, SentencepieceSpec* spec) {
  Fields fields(message);
  while (fields.Next()) {
    if (fields.field() == 2) spec->character_map = fields.bytes();
    if (fields.field() == 3) spec->adds_space = fields.number() != 0;
    if (fields.field() == 4) spec->removes_spaces = fields.number() != 0;
    if (fields.field() == 5) spec->marks_spaces = fields.number() != 0;
  }
  return fields.is_damaged() ? Damaged() : absl::OkStatus();
}

}  // namespace

absl::StatusOr<SentencepieceSpec> SentencepieceSpec::Parse(absl::string_view message) {
  if (message.size() >= (1u << 31)) return Damaged();
  SentencepieceSpec spec;
  Fields fields(message);
  while (fields.Next()) {
    if (fields.field() == 1) RETURN_IF_ERROR(ReadPiece(fields.bytes(), &spec));
    if (fields.field() == 2) RETURN_IF_ERROR(ReadTraining(fields.bytes(), &spec));
    if (fields.field() == 3) RETURN_IF_ERROR(ReadNormalizer(fields.bytes(), &spec));
  }
  if (fields.is_damaged()) return Damaged();
  const bool has_unknown = std::any_of(spec.pieces.begin(), spec.pieces.end(),
                                       [](const Piece& p) { return p.kind == Kind::kUnknown; });
  if (!has_unknown) return absl::InvalidArgumentError("the model has no unknown piece");
  return spec;
}

}  // namespace tessera

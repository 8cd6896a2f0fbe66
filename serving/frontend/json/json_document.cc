#include "serving/frontend/json/json_document.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/error/en.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

constexpr size_t kMaxQuoted = 256;

// The text as a stream for RapidJSON. The type belongs to this file, so that the templates of
// RapidJSON for it are compiled with the options of this file, which decide how numbers are
// rounded.
class TextStream {
 public:
  using Ch = char;

  explicit TextStream(absl::string_view text)
      : begin_(text.data()), end_(text.data() + text.size()), p_(begin_) {
    constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (absl::StartsWith(text, kByteOrderMark)) p_ += kByteOrderMark.size();
  }
  char Peek() const { return p_ == end_ ? '\0' : *p_; }
  char Take() { return p_ == end_ ? '\0' : *p_++; }
  size_t Tell() const { return static_cast<size_t>(p_ - begin_); }

  // RapidJSON calls these when it parses in place, which this file does not do.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  void Flush() {}
  size_t PutEnd(char*) { return 0; }

 private:
  const char* begin_;
  const char* end_;
  const char* p_;
};

// Exponents with this many digits are out of the range of a double.
constexpr size_t kHugeExponentDigits = 9;

// RapidJSON adds exponents as ints and uses the sum as an index, and a body can make the sum
// overflow. If text[e], an 'e', begins an exponent that could, returns how many digits it has,
// after *begin; else 0.
size_t HugeExponentAt(absl::string_view text, size_t e, size_t* begin) {
  size_t i = e + 1;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  *begin = i;
  while (i < text.size() && text[i] == '0') ++i;
  const size_t first = i;
  while (i < text.size() && absl::ascii_isdigit(text[i])) ++i;
  return i - first >= kHugeExponentDigits ? i - *begin : 0;
}

bool HasHugeExponent(absl::string_view text) {
  size_t begin;
  for (const char letter : {'e', 'E'}) {
    const char* const end = text.data() + text.size();
    const char* p = text.data();
    while (p < end && (p = static_cast<const char*>(std::memchr(p, letter, end - p))) != nullptr) {
      if (HugeExponentAt(text, p - text.data(), &begin) > 0) return true;
      ++p;
    }
  }
  return false;
}

// Replaces huge exponents, outside of strings, by smaller ones that give the same value.
std::string TameExponents(absl::string_view text) {
  std::string result(text);
  bool in_string = false;
  for (size_t i = 0; i < result.size(); ++i) {
    const char c = result[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
      continue;
    }
    if (c != 'e' && c != 'E') continue;
    size_t begin;
    const size_t digits = HugeExponentAt(text, i, &begin);
    for (size_t k = 0; k < digits; ++k) {
      result[begin + k] = k + kHugeExponentDigits > digits ? '9' : '0';
    }
    i += digits;
  }
  return result;
}

// Passes what RapidJSON reads to a document, and numbers, which it is to leave as text, as the
// integers or the nearest doubles that they are. RapidJSON's own exact conversion counts the
// leading zeros of zero, which has no defined result.
class ExactReader {
 public:
  explicit ExactReader(JsonDocument* document) : document_(*document) {}

  bool RawNumber(const char* chars, rapidjson::SizeType size, bool /*copy*/) {
    const absl::string_view text(chars, size);
    int64_t integer;
    uint64_t large;
    if (absl::SimpleAtoi(text, &integer)) return document_.Int64(integer);
    if (absl::SimpleAtoi(text, &large)) return document_.Uint64(large);
    double value = 0;
    const auto end = absl::from_chars(text.data(), text.data() + text.size(), value);
    // A number that is too small is zero, or the smallest one.
    if (end.ec == std::errc::result_out_of_range && std::abs(value) > 1) return false;
    return document_.Double(value);
  }

  bool Null() { return document_.Null(); }
  bool Bool(bool value) { return document_.Bool(value); }
  bool String(const char* chars, rapidjson::SizeType size, bool copy) {
    return document_.String(chars, size, copy);
  }
  bool Key(const char* chars, rapidjson::SizeType size, bool copy) {
    return document_.Key(chars, size, copy);
  }
  bool StartObject() { return document_.StartObject(); }
  bool EndObject(rapidjson::SizeType members) { return document_.EndObject(members); }
  bool StartArray() { return document_.StartArray(); }
  bool EndArray(rapidjson::SizeType values) { return document_.EndArray(values); }

  // Numbers come as text alone.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  JsonDocument& document_;
};

template <unsigned kFlags>
rapidjson::ParseResult ParseExactly(TextStream& stream, JsonDocument* document) {
  rapidjson::ParseResult result;
  const auto read = [&](JsonDocument& values) {
    ExactReader exact(&values);
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, JsonMemory> reader;
    result = reader.Parse<kFlags | rapidjson::kParseNumbersAsStringsFlag>(stream, exact);
    return !result.IsError();
  };
  document->Populate(read);
  // The reader above refuses only this.
  if (result.Code() == rapidjson::kParseErrorTermination) {
    result.Set(rapidjson::kParseErrorNumberTooBig, result.Offset());
  }
  return result;
}

// Writes a scalar, or the beginning of a list or object.
void QuoteStart(const JsonValue& value, JsonWriter& json) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return json.Literal("null");
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return json.Bool(value.GetBool());
    case rapidjson::kObjectType:
      return json.StartObject();
    case rapidjson::kArrayType:
      return json.StartArray();
    case rapidjson::kStringType:
      return json.String(TextOf(value).substr(0, kMaxQuoted));
    case rapidjson::kNumberType:
      if (value.IsUint64()) return json.Number(value.GetUint64());
      if (value.IsInt64()) return json.Number(value.GetInt64());
      return json.Number(value.GetDouble());
  }
}

}  // namespace

absl::Status ParseJsonObject(absl::string_view text, JsonDocument* document, JsonDialect dialect) {
  if (text.size() > kMaxJsonBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body has ", text.size(), " bytes of JSON; at most ", kMaxJsonBytes, " can be parsed"));
  }
  std::string tamed;
  if (HasHugeExponent(text)) {
    tamed = TameExponents(text);
    text = tamed;
  }
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                              rapidjson::kParseStopWhenDoneFlag;
  TextStream stream(text);
  rapidjson::ParseResult parsed;
  if (dialect == JsonDialect::kExact) {
    parsed = ParseExactly<kFlags>(stream, document);
  } else {
    document->ParseStream<kFlags>(stream);
    parsed.Set(document->GetParseError(), document->GetErrorOffset());
  }
  if (parsed.IsError()) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON Parse error: ", rapidjson::GetParseError_En(parsed.Code()),
                     " at offset: ", parsed.Offset()));
  }
  if (!document->IsObject()) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON Value: ", QuoteJson(*document), " Is not object"));
  }
  const absl::string_view rest = text.substr(std::min(stream.Tell(), text.size()));
  const bool has_more = !absl::StripAsciiWhitespace(rest).empty();
  if (dialect == JsonDialect::kExact && has_more) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON Parse error: bytes after the object, at offset: ", stream.Tell()));
  }
  return absl::OkStatus();
}

const JsonValue* FindMember(const JsonValue& object, absl::string_view name) {
  // RapidJSON's own look-up would make a JsonValue of the name first.
  for (const auto& member : object.GetObject()) {
    if (TextOf(member.name) == name) return &member.value;
  }
  return nullptr;
}

absl::Status ReadSignatureName(const JsonValue& body, std::string* name) {
  name->clear();
  const JsonValue* value = FindMember(body, "signature_name");
  if (value == nullptr) return absl::OkStatus();
  if (!value->IsString()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'signature_name' key must be a string value, but is: ", QuoteJson(*value)));
  }
  *name = std::string(TextOf(*value));
  return absl::OkStatus();
}

bool IsBase64Object(const JsonValue& value) {
  if (!value.IsObject() || value.MemberCount() != 1) return false;
  const auto& member = *value.MemberBegin();
  return TextOf(member.name) == "b64" && member.value.IsString();
}

absl::Status DecodeBase64Object(const JsonValue& value, std::string* bytes) {
  if (!IsBase64Object(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON Value: ", QuoteJson(value),
                     " not formatted correctly for base64 data: {\"b64\": \"...\"} is"));
  }
  if (!absl::Base64Unescape(TextOf(value.MemberBegin()->value), bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Unable to base64 decode JSON Value: ", QuoteJson(value)));
  }
  return absl::OkStatus();
}

std::string QuoteJson(const JsonValue& value) {
  std::string text;
  JsonWriter json(&text);
  json.set_arrays_on_one_line(true);
  // The open lists and objects, each with the index of its next value.
  std::vector<std::pair<const JsonValue*, rapidjson::SizeType>> open;
  auto quote = [&](const JsonValue& next) {
    QuoteStart(next, json);
    if (next.IsObject() || next.IsArray()) open.emplace_back(&next, 0);
  };
  quote(value);
  while (!open.empty() && text.size() <= kMaxQuoted) {
    auto& [parent, i] = open.back();
    if (parent->IsArray() && i < parent->Size()) {
      quote((*parent)[i++]);
    } else if (parent->IsObject() && i < parent->MemberCount()) {
      const auto& member = *(parent->MemberBegin() + i++);
      json.Key(TextOf(member.name).substr(0, kMaxQuoted));
      quote(member.value);
    } else {
      parent->IsArray() ? json.EndArray() : json.EndObject();
      open.pop_back();
    }
  }
  if (text.size() > kMaxQuoted) text.resize(kMaxQuoted);
  return text;
}

absl::string_view JsonTypeName(const JsonValue& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return "Null";
    case rapidjson::kFalseType:
      return "False";
    case rapidjson::kTrueType:
      return "True";
    case rapidjson::kObjectType:
      return "Object";
    case rapidjson::kArrayType:
      return "Array";
    case rapidjson::kStringType:
      return "String";
    case rapidjson::kNumberType:
      return "Number";
  }
  return "Unknown";
}

}  // namespace tessera::serving

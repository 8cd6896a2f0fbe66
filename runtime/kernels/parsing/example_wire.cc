#include "runtime/kernels/parsing/example_wire.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/status.h"

namespace tessera {
namespace {

// Protocol buffers' wire format: a field is a tag (number and type) and a value.
// protobuf.dev/programming-guides/encoding
enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : p_(bytes.data()), end_(p_ + bytes.size()) {}

  bool done() const { return p_ == end_; }
  absl::string_view rest() const { return absl::string_view(p_, end_ - p_); }
  bool ReadVarint(uint64_t* value) {
    if (p_ != end_ && static_cast<uint8_t>(*p_) < 0x80) {
      *value = static_cast<uint8_t>(*p_++);
      return true;
    }
    *value = 0;
    for (int shift = 0; shift < 70 && p_ != end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*p_++);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  // Reads the tag of a field below 16, which must be in its shortest form. False, and without any
  // effect, at other bytes.
  bool ReadExactTag(uint32_t field, WireType type = kLengthDelimited) {
    if (p_ == end_ || static_cast<uint8_t>(*p_) != (field << 3 | type)) return false;
    ++p_;
    return true;
  }
  // Reads a tag or a size; bits above the lowest 32 do not count. False at malformed bytes.
  bool ReadVarint32(uint32_t* value) {
    uint64_t wide;
    if (!ReadVarint(&wide)) return false;
    *value = static_cast<uint32_t>(wide);
    return true;
  }
  bool ReadBytes(absl::string_view* bytes) {
    uint32_t size;
    return ReadVarint32(&size) && Take(size, bytes);
  }
  bool Take(uint32_t size, absl::string_view* bytes) {
    if (size > end_ - p_) return false;
    *bytes = absl::string_view(p_, size);
    p_ += size;
    return true;
  }
  // Reads a size, and ends the reader behind that many bytes, or where it ended before if that
  // comes first. PopLimit() takes the former end, and goes on where the reader stands.
  bool PushLimit(uint32_t* size, const char** end) {
    if (!ReadVarint32(size)) return false;
    *end = end_;
    end_ = p_ + std::min<int64_t>(*size, end_ - p_);
    return true;
  }
  void PopLimit(const char* end) { end_ = end; }
  // Skips any field but a group. A field that is cut off ends with the reader.
  bool SkipField() {
    uint32_t tag, size;
    uint64_t ignored;
    absl::string_view bytes;
    if (!ReadVarint32(&tag) || tag == 0) return false;
    switch (tag & 7) {
      case kVarint:
        return ReadVarint(&ignored);
      case kFixed64:
        return Take(8, &bytes);
      case kFixed32:
        return Take(4, &bytes);
      case kLengthDelimited:
        if (!ReadVarint32(&size)) return false;
        p_ += std::min<int64_t>(size, end_ - p_);
        return true;
      default:
        return false;
    }
  }

 private:
  const char* p_;
  const char* end_;
};

// Each calls visit for the values of a list, whose size comes first, and leaves the reader behind
// what it read.
template <typename Visit>
bool ForEachString(WireReader* reader, Visit visit) {
  uint32_t size;
  const char* end;
  if (!reader->PushLimit(&size, &end)) return false;
  while (!reader->done()) {
    absl::string_view value;
    if (!reader->ReadExactTag(1) || !reader->ReadBytes(&value)) return false;
    visit(value);
  }
  reader->PopLimit(end);
  return true;
}
// visit takes the bytes of one or several values.
template <typename Visit>
bool ForEachFloats(WireReader* reader, ExampleForm form, Visit visit) {
  uint32_t size;
  const char* end;
  if (!reader->PushLimit(&size, &end)) return false;
  absl::string_view values;
  if (size > 0 && reader->ReadExactTag(1)) {
    uint32_t packed;
    if (!reader->ReadVarint32(&packed)) return false;
    // TensorFlow's parser of Examples drops bytes behind the last whole value, its parser of
    // contexts values behind the end of the list.
    if (form == ExampleForm::kExample) {
      packed -= packed % sizeof(float);
    } else {
      packed = static_cast<uint32_t>(std::min<size_t>(packed, reader->rest().size()));
    }
    if (packed % sizeof(float) != 0 || !reader->Take(packed, &values)) return false;
    visit(values);
  } else if (size > 0) {
    do {
      if (!reader->ReadExactTag(1, kFixed32) || !reader->Take(sizeof(float), &values)) return false;
      visit(values);
    } while (!reader->done());
  }
  reader->PopLimit(end);
  return true;
}
template <typename Visit>
bool ForEachInt(WireReader* reader, Visit visit) {
  uint32_t size, packed;
  const char* end;
  if (!reader->PushLimit(&size, &end)) return false;
  uint64_t value;
  if (size > 0 && reader->ReadExactTag(1)) {
    const char* list_end;
    if (!reader->PushLimit(&packed, &list_end)) return false;
    while (!reader->done()) {
      if (!reader->ReadVarint(&value)) return false;
      visit(static_cast<int64_t>(value));
    }
    reader->PopLimit(list_end);
  } else if (size > 0) {
    do {
      if (!reader->ReadExactTag(1, kVarint) || !reader->ReadVarint(&value)) return false;
      visit(static_cast<int64_t>(value));
    } while (!reader->done());
  }
  reader->PopLimit(end);
  return true;
}

// Returns the number of values of a list, or -1 for malformed bytes, and leaves the reader behind
// what it read.
int64_t Count(DType dtype, ExampleForm form, WireReader* reader) {
  int64_t count = 0;
  bool valid = true;
  switch (dtype) {
    case DType::kString:
      valid = ForEachString(reader, [&](absl::string_view) { ++count; });
      break;
    case DType::kFloat:
      valid = ForEachFloats(reader, form, [&](absl::string_view values) {
        count += static_cast<int64_t>(values.size() / sizeof(float));
      });
      break;
    case DType::kInt64:
      valid = ForEachInt(reader, [&](int64_t) { ++count; });
      break;
    default:
      break;
  }
  return valid ? count : -1;
}

// Each writes up to `room` values of a list, and returns how many there are, or -1 for malformed
// bytes.
int64_t CopyStrings(absl::string_view list, std::string* to, int64_t room) {
  int64_t count = 0;
  WireReader reader(list);
  const bool valid = ForEachString(&reader, [&](absl::string_view value) {
    if (count < room) to[count].assign(value.data(), value.size());
    ++count;
  });
  return valid ? count : -1;
}
int64_t CopyFloats(absl::string_view list, ExampleForm form, float* to, int64_t room) {
  int64_t count = 0;
  WireReader reader(list);
  const bool valid = ForEachFloats(&reader, form, [&](absl::string_view values) {
    const auto added = static_cast<int64_t>(values.size() / sizeof(float));
    const int64_t copied = std::clamp<int64_t>(room - count, 0, added);
    std::memcpy(to + std::min(count, room), values.data(), copied * sizeof(float));
    count += added;
  });
  return valid ? count : -1;
}
int64_t CopyInts(absl::string_view list, int64_t* to, int64_t room) {
  int64_t count = 0;
  WireReader reader(list);
  const bool valid = ForEachInt(&reader, [&](int64_t value) {
    if (count < room) to[count] = value;
    ++count;
  });
  return valid ? count : -1;
}

// The dtypes of the fields of a Feature.
constexpr DType kListTypes[] = {DType::kString, DType::kFloat, DType::kInt64};

// Reads the tag of the list that a feature begins with. kInvalid, and without any effect, at other
// bytes.
DType ReadListTag(WireReader* reader) {
  for (uint32_t field = 1; field <= 3; ++field) {
    if (reader->ReadExactTag(field)) return kListTypes[field - 1];
  }
  return DType::kInvalid;
}

FeatureView ReadFirstList(absl::string_view feature, ExampleForm form) {
  FeatureView view;
  view.is_named = true;
  view.form = form;
  if (feature.empty()) return view;
  WireReader reader(feature);
  view.dtype = ReadListTag(&reader);
  view.is_valid = view.dtype != DType::kInvalid;
  view.list = reader.rest();
  return view;
}

// Reads the key and the value of an entry, and nothing else. In an Example they may come in any
// order.
bool ReadMapEntry(WireReader* reader, ExampleForm form, absl::string_view* key,
                  absl::string_view* value) {
  if (form != ExampleForm::kExample) {
    return reader->ReadExactTag(1) && reader->ReadBytes(key) && reader->ReadExactTag(2) &&
           reader->ReadBytes(value) && reader->done();
  }
  uint32_t first, second;
  constexpr uint32_t kKey = 1 << 3 | kLengthDelimited, kValue = 2 << 3 | kLengthDelimited;
  if (!reader->ReadVarint32(&first) || !reader->ReadBytes(first == kKey ? key : value) ||
      !reader->ReadVarint32(&second) || !reader->ReadBytes(second == kKey ? key : value)) {
    return false;
  }
  return std::min(first, second) == kKey && std::max(first, second) == kValue && reader->done();
}

// Calls visit(key, value) for each entry of the maps that a field of a message holds in their field
// 1. False if there is any other field in the maps or in an entry.
template <typename Visit>
bool ForEachMapEntry(absl::string_view message, uint32_t field, ExampleForm form, Visit visit) {
  WireReader reader(message);
  uint32_t size;
  while (!reader.done()) {
    const char *end, *map_end;
    if (!reader.ReadExactTag(field)) {
      if (!reader.SkipField()) return false;
      continue;
    }
    if (!reader.PushLimit(&size, &end)) return false;
    while (!reader.done()) {
      absl::string_view key, value;
      if (!reader.ReadExactTag(1) || !reader.PushLimit(&size, &map_end) ||
          !ReadMapEntry(&reader, form, &key, &value)) {
        return false;
      }
      reader.PopLimit(map_end);
      visit(key, value);
    }
    reader.PopLimit(end);
  }
  return true;
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the bytes are not a serialized ", what));
}

}  // namespace

int64_t FeatureView::CountValues() const {
  WireReader reader(list);
  return Count(dtype, form, &reader);
}

int64_t FeatureView::CopyTo(Tensor* to, int64_t at, int64_t room) const {
  switch (dtype) {
    case DType::kString:
      return CopyStrings(list, to->data<std::string>() + at, room);
    case DType::kFloat:
      return CopyFloats(list, form, to->data<float>() + at, room);
    case DType::kInt64:
      return CopyInts(list, to->data<int64_t>() + at, room);
    default:
      return 0;
  }
}

absl::Status ParseExample(absl::string_view serialized, ExampleForm form,
                          absl::FunctionRef<void(absl::string_view, FeatureView)> visit) {
  const bool valid =
      ForEachMapEntry(serialized, 1, form, [&](absl::string_view name, absl::string_view feature) {
        visit(name, ReadFirstList(feature, form));
      });
  return valid ? absl::OkStatus() : Malformed("tensorflow.Example");
}

absl::Status ParseSequenceExample(
    absl::string_view serialized,
    absl::FunctionRef<void(absl::string_view, absl::string_view)> visit) {
  const bool valid = ForEachMapEntry(serialized, 2, ExampleForm::kContext, visit);
  return valid ? absl::OkStatus() : Malformed("tensorflow.SequenceExample");
}

absl::StatusOr<std::vector<FeatureView>> ParseFeatureList(absl::string_view list) {
  std::vector<FeatureView> views;
  WireReader reader(list);
  while (!reader.done()) {
    uint32_t size;
    const char* end;
    if (!reader.ReadExactTag(1) || !reader.PushLimit(&size, &end)) {
      return Malformed("tensorflow.FeatureList");
    }
    FeatureView& view = views.emplace_back();
    view.form = ExampleForm::kContext;
    view.is_named = true;
    if (size > 0) {
      view.dtype = ReadListTag(&reader);
      view.list = reader.rest();
      // A feature of two bytes has room for an empty list alone.
      const bool fits = size > 2 || view.list == absl::string_view("\0", 1);
      if (view.dtype == DType::kInvalid || !fits || Count(view.dtype, view.form, &reader) < 0) {
        return Malformed("tensorflow.FeatureList");
      }
    }
    reader.PopLimit(end);
  }
  return views;
}

}  // namespace tessera

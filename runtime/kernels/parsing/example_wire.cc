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
  // Reads the tag of a length-delimited field below 16, which must be in its shortest form. False,
  // and without any effect, at other bytes.
  bool ReadExactTag(uint32_t field) {
    if (p_ == end_ || static_cast<uint8_t>(*p_) != (field << 3 | kLengthDelimited)) return false;
    ++p_;
    return true;
  }
  // False at malformed bytes.
  bool ReadTag(uint32_t* field, int* type) {
    uint64_t tag;
    if (!ReadVarint(&tag) || (tag >> 3) == 0 || tag > UINT32_MAX) return false;
    *field = static_cast<uint32_t>(tag >> 3);
    *type = static_cast<int>(tag & 7);
    return true;
  }
  bool ReadBytes(absl::string_view* bytes) {
    uint64_t size;
    if (!ReadVarint(&size) || size > static_cast<uint64_t>(end_ - p_)) return false;
    *bytes = absl::string_view(p_, size);
    p_ += size;
    return true;
  }
  bool ReadFixed32(absl::string_view* bytes) {
    if (end_ - p_ < 4) return false;
    *bytes = absl::string_view(p_, 4);
    p_ += 4;
    return true;
  }
  bool Skip(int type) {
    uint64_t ignored;
    absl::string_view bytes;
    switch (type) {
      case kVarint:
        return ReadVarint(&ignored);
      case kFixed64:
      case kFixed32: {
        const int size = type == kFixed64 ? 8 : 4;
        if (end_ - p_ < size) return false;
        p_ += size;
        return true;
      }
      case kLengthDelimited:
        return ReadBytes(&bytes);
      default:
        return false;  // groups are not part of these messages
    }
  }

 private:
  const char* p_;
  const char* const end_;
};

// Calls visit(bytes) for each occurrence of a length-delimited field; false at malformed bytes.
template <typename Visit>
bool ForEachMessage(absl::string_view message, uint32_t wanted, Visit visit) {
  WireReader reader(message);
  while (!reader.done()) {
    uint32_t field;
    int type;
    if (!reader.ReadTag(&field, &type)) return false;
    if (field != wanted || type != kLengthDelimited) {
      if (!reader.Skip(type)) return false;
      continue;
    }
    absl::string_view bytes;
    if (!reader.ReadBytes(&bytes) || !visit(bytes)) return false;
  }
  return true;
}

// Calls visit with the bytes of values, one or several, of the one repeated field of a list, packed
// or not.
template <typename Visit>
bool ForEachFloats(absl::string_view list, Visit visit) {
  WireReader reader(list);
  while (!reader.done()) {
    uint32_t field;
    int type;
    absl::string_view values;
    if (!reader.ReadTag(&field, &type)) return false;
    if (field == 1 && type == kFixed32) {
      if (!reader.ReadFixed32(&values)) return false;
      visit(values);
    } else if (field == 1 && type == kLengthDelimited) {
      if (!reader.ReadBytes(&values) || values.size() % sizeof(float) != 0) return false;
      visit(values);
    } else if (!reader.Skip(type)) {
      return false;
    }
  }
  return true;
}
// Calls visit for each value, likewise.
template <typename Visit>
bool ForEachInt(absl::string_view list, Visit visit) {
  WireReader reader(list);
  while (!reader.done()) {
    uint32_t field;
    int type;
    uint64_t value;
    if (!reader.ReadTag(&field, &type)) return false;
    if (field == 1 && type == kVarint) {
      if (!reader.ReadVarint(&value)) return false;
      visit(static_cast<int64_t>(value));
    } else if (field == 1 && type == kLengthDelimited) {
      absl::string_view packed;
      if (!reader.ReadBytes(&packed)) return false;
      for (WireReader values(packed); !values.done();) {
        if (!values.ReadVarint(&value)) return false;
        visit(static_cast<int64_t>(value));
      }
    } else if (!reader.Skip(type)) {
      return false;
    }
  }
  return true;
}

// The dtypes of the fields of a Feature.
constexpr DType kListTypes[] = {DType::kString, DType::kFloat, DType::kInt64};

// Reads the list that a feature begins with, if it has any bytes.
FeatureView ReadFirstList(absl::string_view feature) {
  FeatureView view;
  view.is_named = true;
  if (feature.empty()) return view;
  WireReader reader(feature);
  for (uint32_t field = 1; field <= 3; ++field) {
    if (!reader.ReadExactTag(field)) continue;
    view.dtype = kListTypes[field - 1];
    view.is_valid = reader.ReadBytes(&view.list);
    return view;
  }
  view.is_valid = false;
  return view;
}

// Calls visit(key, value) for each entry of the map in field 1 of a message. False if there is any
// other field, there or in an entry.
template <typename Visit>
bool ForEachExactMapEntry(absl::string_view message, ExampleForm form, Visit visit) {
  WireReader reader(message);
  while (!reader.done()) {
    absl::string_view entry, key, value;
    if (!reader.ReadExactTag(1) || !reader.ReadBytes(&entry)) return false;
    WireReader fields(entry);
    if (form == ExampleForm::kExample) {
      uint32_t first, second;
      int type;
      if (!fields.ReadTag(&first, &type) || type != kLengthDelimited) return false;
      if (!fields.ReadBytes(first == 1 ? &key : &value)) return false;
      if (!fields.ReadTag(&second, &type) || type != kLengthDelimited) return false;
      if (first + second != 3 || !fields.ReadBytes(second == 1 ? &key : &value)) return false;
    } else if (!fields.ReadExactTag(1) || !fields.ReadBytes(&key) || !fields.ReadExactTag(2) ||
               !fields.ReadBytes(&value)) {
      return false;
    }
    if (!fields.done()) return false;
    visit(key, value);
  }
  return true;
}

// Of the members of the oneof the last one on the wire counts.
bool ReadFeature(absl::string_view feature, FeatureView* view) {
  view->is_named = true;
  WireReader reader(feature);
  while (!reader.done()) {
    uint32_t field;
    int type;
    if (!reader.ReadTag(&field, &type)) return false;
    if (field > 3 || type != kLengthDelimited) {
      if (!reader.Skip(type)) return false;
      continue;
    }
    view->dtype = kListTypes[field - 1];
    if (!reader.ReadBytes(&view->list)) return false;
  }
  return true;
}

// Field 1 of Features and of FeatureLists is a map: entries of a key (1) and a value (2).
template <typename Visit>
bool ForEachMapEntry(absl::string_view map, Visit visit) {
  return ForEachMessage(map, 1, [&](absl::string_view entry) {
    absl::string_view key, value;
    auto set = [](absl::string_view* to) {
      return [to](absl::string_view bytes) {
        *to = bytes;
        return true;
      };
    };
    return ForEachMessage(entry, 1, set(&key)) && ForEachMessage(entry, 2, set(&value)) &&
           visit(key, value);
  });
}

// Each writes up to `room` values of a list, and returns how many there are, or -1 for malformed
// bytes.
int64_t CopyStrings(absl::string_view list, std::string* to, int64_t room) {
  int64_t count = 0;
  const bool valid = ForEachMessage(list, 1, [&](absl::string_view value) {
    if (count < room) to[count].assign(value.data(), value.size());
    ++count;
    return true;
  });
  return valid ? count : -1;
}
int64_t CopyFloats(absl::string_view list, float* to, int64_t room) {
  int64_t count = 0;
  const bool valid = ForEachFloats(list, [&](absl::string_view values) {
    const auto added = static_cast<int64_t>(values.size() / sizeof(float));
    const int64_t copied = std::clamp<int64_t>(room - count, 0, added);
    std::memcpy(to + std::min(count, room), values.data(), copied * sizeof(float));
    count += added;
  });
  return valid ? count : -1;
}
int64_t CopyInts(absl::string_view list, int64_t* to, int64_t room) {
  int64_t count = 0;
  const bool valid = ForEachInt(list, [&](int64_t value) {
    if (count < room) to[count] = value;
    ++count;
  });
  return valid ? count : -1;
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the bytes are not a serialized ", what));
}

}  // namespace

int64_t FeatureView::CountValues() const {
  int64_t count = 0;
  bool valid = true;
  switch (dtype) {
    case DType::kString:
      valid = ForEachMessage(list, 1, [&](absl::string_view) {
        ++count;
        return true;
      });
      break;
    case DType::kFloat:
      valid = ForEachFloats(list, [&](absl::string_view values) {
        count += static_cast<int64_t>(values.size() / sizeof(float));
      });
      break;
    case DType::kInt64:
      valid = ForEachInt(list, [&](int64_t) { ++count; });
      break;
    default:
      break;
  }
  return valid ? count : -1;
}

int64_t FeatureView::CopyTo(Tensor* to, int64_t at, int64_t room) const {
  switch (dtype) {
    case DType::kString:
      return CopyStrings(list, to->data<std::string>() + at, room);
    case DType::kFloat:
      return CopyFloats(list, to->data<float>() + at, room);
    case DType::kInt64:
      return CopyInts(list, to->data<int64_t>() + at, room);
    default:
      return 0;
  }
}

absl::Status ParseExample(absl::string_view serialized, ExampleForm form,
                          absl::FunctionRef<void(absl::string_view, FeatureView)> visit) {
  const bool valid = ForEachMessage(serialized, 1, [&](absl::string_view features) {
    if (form != ExampleForm::kSingleContext) {
      return ForEachExactMapEntry(features, form,
                                  [&](absl::string_view name, absl::string_view feature) {
                                    visit(name, ReadFirstList(feature));
                                  });
    }
    return ForEachMapEntry(features, [&](absl::string_view name, absl::string_view feature) {
      FeatureView view;
      if (!ReadFeature(feature, &view)) return false;
      visit(name, view);
      return true;
    });
  });
  return valid ? absl::OkStatus() : Malformed("tensorflow.Example");
}

absl::Status ParseSequenceExample(
    absl::string_view serialized,
    absl::FunctionRef<void(absl::string_view, FeatureView)> visit_context,
    absl::FunctionRef<void(absl::string_view, std::vector<FeatureView>)> visit_list) {
  // The context is the same as an Example's features; the lists are a map to lists of features.
  if (!ParseExample(serialized, ExampleForm::kSingleContext, visit_context).ok()) {
    return Malformed("tensorflow.SequenceExample");
  }
  const bool valid = ForEachMessage(serialized, 2, [&](absl::string_view lists) {
    return ForEachMapEntry(lists, [&](absl::string_view name, absl::string_view list) {
      std::vector<FeatureView> views;
      const bool ok = ForEachMessage(list, 1, [&](absl::string_view feature) {
        return ReadFeature(feature, &views.emplace_back());
      });
      if (ok) visit_list(name, std::move(views));
      return ok;
    });
  });
  return valid ? absl::OkStatus() : Malformed("tensorflow.SequenceExample");
}

}  // namespace tessera

#include "runtime/stablehlo/bytecode.h"

#include "absl/strings/match.h"
#include "runtime/base/status.h"

namespace tessera::stablehlo {
namespace {

constexpr absl::string_view kMagic("ML\xEFR", 4);

enum SectionId {
  kStrings = 0,
  kDialects = 1,
  kAttributesAndTypes = 2,
  kAttributeAndTypeOffsets = 3,
  kIr = kIrSection,
  kProperties = 8,
  kNumSections = 9,
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the MLIR bytecode is malformed: its ", what));
}

using Sections = std::array<std::optional<ByteCursor>, kNumSections>;

class Reader {
 public:
  Reader(const Sections& sections, Bytecode* bytecode)
      : sections_(sections), bytecode_(*bytecode) {}

  absl::Status Read() {
    for (SectionId id : {kStrings, kDialects, kAttributesAndTypes, kAttributeAndTypeOffsets, kIr}) {
      if (!sections_[id].has_value()) return Malformed("sections are not complete");
    }
    RETURN_IF_ERROR(ReadStrings(*sections_[kStrings]));
    RETURN_IF_ERROR(ReadDialects(*sections_[kDialects]));
    RETURN_IF_ERROR(ReadOffsets(*sections_[kAttributeAndTypeOffsets]));
    if (sections_[kProperties].has_value()) {
      RETURN_IF_ERROR(ReadProperties(*sections_[kProperties]));
    }
    bytecode_.ir = sections_[kIr];
    return absl::OkStatus();
  }

 private:
  // The lengths stand in front of the strings and in reverse order; each counts a final zero.
  absl::Status ReadStrings(ByteCursor in) {
    std::vector<uint64_t> lengths(in.Count());
    for (size_t i = lengths.size(); i-- > 0;) lengths[i] = in.Varint();
    bytecode_.strings.reserve(lengths.size());
    for (uint64_t length : lengths) {
      const absl::string_view text = length == 0 ? "" : in.Bytes(length);
      if (text.empty()) return Malformed("strings have no end");
      bytecode_.strings.push_back(text.substr(0, text.size() - 1));
    }
    return in.failed() ? Malformed("strings end early") : absl::OkStatus();
  }

  absl::string_view String(uint64_t index, ByteCursor* in) const {
    if (index < bytecode_.strings.size()) return bytecode_.strings[index];
    in->Fail();
    return "";
  }

  absl::string_view Dialect(ByteCursor* in) const {
    const uint64_t index = in->Varint();
    if (index < dialects_.size()) return dialects_[index];
    in->Fail();
    return "";
  }

  absl::Status ReadDialects(ByteCursor in) {
    const size_t count = in.Count();
    for (size_t i = 0; i < count && !in.failed(); ++i) {
      uint64_t name = in.Varint();
      if (bytecode_.version >= Bytecode::kWithDialectVersions) {
        const bool has_version = name & 1;
        name >>= 1;
        int id = 0;
        if (has_version) ReadSection(&in, &id);
      }
      dialects_.push_back(String(name, &in));
    }
    if (bytecode_.version >= Bytecode::kWithElidedLocations) in.Varint();  // the number of ops
    while (!in.AtEnd()) {
      const absl::string_view dialect = Dialect(&in);
      const size_t ops = in.Count();
      for (size_t i = 0; i < ops && !in.failed(); ++i) {
        const uint64_t name = in.Varint();
        const bool has_flag = bytecode_.version >= Bytecode::kWithProperties;
        bytecode_.op_names.push_back({dialect, String(has_flag ? name >> 1 : name, &in)});
      }
    }
    return in.failed() ? Malformed("dialects end early") : absl::OkStatus();
  }

  absl::Status ReadOffsets(ByteCursor in) {
    ByteCursor data = *sections_[kAttributesAndTypes];
    const size_t num_attributes = in.Count();
    const size_t num_types = in.Count();
    ReadEntries(num_attributes, &in, &data, &bytecode_.attributes);
    ReadEntries(num_types, &in, &data, &bytecode_.types);
    return in.failed() || data.failed() ? Malformed("attributes end early") : absl::OkStatus();
  }

  // Reads groups of entries of one dialect each, whose sizes follow one another.
  void ReadEntries(size_t count, ByteCursor* in, ByteCursor* data,
                   std::vector<Bytecode::Entry>* entries) {
    while (entries->size() < count && !in->failed() && !data->failed()) {
      const absl::string_view dialect = Dialect(in);
      const size_t group = in->Count();
      if (group > count - entries->size()) return in->Fail();
      for (size_t i = 0; i < group; ++i) {
        const uint64_t size_and_flag = in->Varint();
        const bool is_binary = size_and_flag & 1;
        entries->push_back({dialect, is_binary, data->Sub(size_and_flag >> 1)});
      }
    }
  }

  absl::Status ReadProperties(ByteCursor in) {
    const size_t count = in.Count();
    for (size_t i = 0; i < count && !in.failed(); ++i) {
      const size_t size = in.Count();
      bytecode_.properties.push_back(in.Sub(size));
    }
    return in.failed() ? Malformed("properties end early") : absl::OkStatus();
  }

  const Sections& sections_;
  Bytecode& bytecode_;
  std::vector<absl::string_view> dialects_;
};

}  // namespace

ByteCursor ReadSection(ByteCursor* cursor, int* id) {
  const uint8_t id_and_flag = cursor->Byte();
  *id = id_and_flag & 0x7f;
  const size_t size = cursor->Count();
  if (id_and_flag & 0x80) cursor->Align(cursor->Varint());
  return cursor->Sub(size);
}

absl::StatusOr<Bytecode> ReadBytecode(absl::string_view file) {
  ByteCursor in(file);
  if (in.Bytes(kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("the module is not MLIR bytecode");
  }
  Bytecode bytecode;
  bytecode.version = in.Varint();
  if (bytecode.version > Bytecode::kNewest) {
    return absl::UnimplementedError(
        absl::StrCat("the module is MLIR bytecode of version ", bytecode.version,
                     ", the newest that can be read is ", Bytecode::kNewest));
  }
  const absl::string_view producer = in.CString();
  if (!in.failed() && !absl::StartsWith(producer, "StableHLO_v")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module was written by '", producer,
                     "' and is no portable artifact of StableHLO, which alone can be read by other "
                     "programs; serialise it as one"));
  }
  Sections sections;
  while (!in.AtEnd()) {
    int id = 0;
    ByteCursor section = ReadSection(&in, &id);
    if (in.failed()) break;
    if (id < kNumSections) sections[id] = section;
  }
  if (in.failed()) return Malformed("sections end early");
  RETURN_IF_ERROR(Reader(sections, &bytecode).Read());
  return bytecode;
}

}  // namespace tessera::stablehlo

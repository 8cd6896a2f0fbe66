#include "serving/server/flag_parser.h"

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace tessera::serving {
namespace {

bool ParseValue(const std::string& text, bool* value) {
  if (text == "1" || absl::EqualsIgnoreCase(text, "true")) {
    *value = true;
  } else if (text == "0" || absl::EqualsIgnoreCase(text, "false")) {
    *value = false;
  } else {
    return false;
  }
  return true;
}

template <typename Int>
bool ParseInt(const std::string& text, Int* value) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || end != text.c_str() + text.size() || errno == ERANGE ||
      number < std::numeric_limits<Int>::min() || number > std::numeric_limits<Int>::max()) {
    return false;
  }
  *value = static_cast<Int>(number);
  return true;
}

bool ParseValue(const std::string& text, int32_t* value) { return ParseInt(text, value); }
bool ParseValue(const std::string& text, int64_t* value) { return ParseInt(text, value); }

bool ParseValue(const std::string& text, float* value) {
  char* end = nullptr;
  const float number = std::strtof(text.c_str(), &end);
  if (end == text.c_str() || end != text.c_str() + text.size()) return false;
  *value = number;
  return true;
}

bool ParseValue(const std::string& text, std::string* value) {
  *value = text;
  return true;
}

bool ParseValue(const std::string& text, std::vector<std::string>* value) {
  value->push_back(text);
  return true;
}

const char* TypeName(const bool*) { return "bool"; }
const char* TypeName(const int32_t*) { return "int32"; }
const char* TypeName(const int64_t*) { return "int64"; }
const char* TypeName(const float*) { return "float"; }
const char* TypeName(const std::string*) { return "string"; }
const char* TypeName(const std::vector<std::string>*) { return "strings"; }

std::string ValueText(const bool* value) { return *value ? "true" : "false"; }
std::string ValueText(const int32_t* value) { return absl::StrCat(*value); }
std::string ValueText(const int64_t* value) { return absl::StrCat(*value); }
std::string ValueText(const float* value) { return absl::StrFormat("%f", *value); }
std::string ValueText(const std::string* value) { return absl::StrCat("\"", *value, "\""); }
std::string ValueText(const std::vector<std::string>* value) {
  return absl::StrCat("\"", absl::StrJoin(*value, ","), "\"");
}

}  // namespace

const char* FlagParser::Flag::type() const {
  return std::visit([](auto* v) { return TypeName(v); }, variable);
}

void FlagParser::BeginGroup(std::string heading, bool is_extension) {
  group_ = std::move(heading);
  is_extension_ = is_extension;
}

void FlagParser::Add(std::string name, Variable variable, std::string help,
                     std::string value_name) {
  std::string value = std::visit([](auto* v) { return ValueText(v); }, variable);
  flags_.push_back({std::move(name), variable, std::move(value), std::move(help),
                    std::move(value_name), group_, is_extension_});
}

const FlagParser::Flag* FlagParser::Find(absl::string_view name) const {
  const std::string key = absl::StrReplaceAll(name, {{"-", "_"}});
  for (const Flag& flag : flags_) {
    if (flag.name == key) return &flag;
  }
  return nullptr;
}

absl::Status FlagParser::Set(absl::string_view name, absl::string_view value) {
  const Flag* flag = Find(name);
  if (flag == nullptr) return absl::NotFoundError(absl::StrCat("no flag named ", name));
  const std::string text(value);
  if (!std::visit([&](auto* variable) { return ParseValue(text, variable); }, flag->variable)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Couldn't interpret value ", value, " for flag ", name, "."));
  }
  return absl::OkStatus();
}

absl::Status FlagParser::Parse(absl::Span<const std::string> args) {
  unknown_.clear();
  errors_.clear();
  const auto note = [this](const std::string& name, absl::Status status) {
    if (!status.ok()) errors_.push_back({name, std::move(status)});
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (arg == "--help") {
      note("help", absl::CancelledError("asked for help"));
      break;
    }
    if (arg == "--") {
      unknown_.insert(unknown_.end(), args.begin() + i, args.end());
      break;
    }
    const size_t equals = arg.find('=');
    const bool is_flag = absl::StartsWith(arg, "--");
    const Flag* flag =
        is_flag ? Find(arg.substr(2, equals == arg.npos ? arg.npos : equals - 2)) : nullptr;
    if (flag != nullptr && equals != arg.npos) {
      note(flag->name, Set(flag->name, arg.substr(equals + 1)));
    } else if (flag != nullptr && flag->is_switch()) {
      *std::get<bool*>(flag->variable) = true;
    } else if (flag != nullptr && separate_values_) {
      note(flag->name, ++i < args.size()
                           ? Set(flag->name, args[i])
                           : absl::InvalidArgumentError(absl::StrCat(arg, " lacks its value")));
    } else {
      unknown_.emplace_back(arg);
    }
  }
  return errors_.empty() ? absl::OkStatus() : errors_.front().status;
}

std::vector<std::string> FlagParser::names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

std::string FlagParser::Usage(absl::string_view program) const {
  std::string text = absl::StrCat("usage: ", program, "\nFlags:\n");
  for (const Flag& flag : flags_) {
    const std::string setting = absl::StrCat("--", flag.name, "=", flag.default_value);
    absl::StrAppend(&text, "\t", absl::StrFormat("%-40s", setting), "\t", flag.type(), "\t",
                    flag.help, "\n");
  }
  return text;
}

}  // namespace tessera::serving

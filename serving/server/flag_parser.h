// FlagParser: reads command lines as TensorFlow's tools do.
//
//   int32_t port = 8500;
//   FlagParser parser;
//   parser.Add("port", &port, "TCP port of gRPC; 0: none");
//   RETURN_IF_ERROR(parser.Parse(args));
//   for (const std::string& arg : parser.unknown()) ...
//
// Scripts rely on these rules: a flag is `--name=value`, and for bools also `--name`. `--name
// value` and `-name` are no flags. Numbers are read as by scanf, and the whole value must be one.
// Bools are 1, 0, true and false in any letter case. The last of repeated flags counts. Arguments
// that are no flags are collected and are no error. `--` ends the flags.
//
// Names may be written with '-' in the place of '_': `--rest-api-port=8501`.
//
// A parser that AllowSeparateValues() also takes `--name value`, as most programs do. A flag whose
// variable is a vector may be repeated, and gathers all values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera::serving {

// Writes into variables of the caller, which must outlive the parser. Not thread-safe.
class FlagParser {
 public:
  using Variable =
      std::variant<bool*, int32_t*, int64_t*, float*, std::string*, std::vector<std::string>*>;
  struct Flag {
    std::string name;
    Variable variable;
    std::string default_value;  // as Usage() writes it
    std::string help;
    // The placeholder that help shows for the value: "FILE", "HOST:PORT", or "a|b" for a choice.
    std::string value_name;
    std::string group;  // the heading under which help lists it; empty: "Flags"
    // Not a flag of the program that this one stands in for.
    bool is_extension = false;

    const char* type() const;  // "int32"
    bool is_switch() const { return std::holds_alternative<bool*>(variable); }
  };

  // Makes the flags that are added from now on belong to a group.
  void BeginGroup(std::string heading, bool is_extension = false);
  // Adds a flag. The value of the variable at this time is the default that Usage() shows.
  void Add(std::string name, Variable variable, std::string help, std::string value_name = "");
  // Lets Parse() take the value of a flag from the argument after it, unless the flag is a switch.
  void AllowSeparateValues() { separate_values_ = true; }

  // Sets variables in the order of `args`, which do not include the program's name. A wrong value
  // does not keep later flags from being set.
  // Errors: INVALID_ARGUMENT "Couldn't interpret value X for flag F." for the first such value;
  // INVALID_ARGUMENT for a separate value that is missing; CANCELLED for --help.
  absl::Status Parse(absl::Span<const std::string> args);
  // Sets one variable. Errors: NOT_FOUND for an unknown name; INVALID_ARGUMENT as from Parse().
  absl::Status Set(absl::string_view name, absl::string_view value);

  // Returns the arguments of the last Parse() that were no flags.
  const std::vector<std::string>& unknown() const { return unknown_; }
  struct Error {
    std::string flag;
    absl::Status status;
  };
  // Returns all errors of the last Parse(), of which it returned the first.
  const std::vector<Error>& errors() const { return errors_; }
  // Returns the flag of this name, which may be written with '-'; null if there is none.
  const Flag* Find(absl::string_view name) const;
  const std::vector<Flag>& flags() const { return flags_; }
  std::vector<std::string> names() const;
  // Returns "usage: PROGRAM", "Flags:", and a line for each flag with its default, type and help.
  std::string Usage(absl::string_view program) const;

 private:
  bool separate_values_ = false;
  std::string group_;
  bool is_extension_ = false;
  std::vector<Flag> flags_;
  std::vector<std::string> unknown_;
  std::vector<Error> errors_;
};

}  // namespace tessera::serving

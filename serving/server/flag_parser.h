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
  using Variable = std::variant<bool*, int32_t*, int64_t*, float*, std::string*>;

  // Adds a flag. The value of the variable at this time is the default that Usage() shows.
  void Add(std::string name, Variable variable, std::string help);

  // Sets variables in the order of `args`, which do not include the program's name.
  // Errors: INVALID_ARGUMENT "Couldn't interpret value X for flag F." for the first such value;
  // CANCELLED for --help.
  absl::Status Parse(absl::Span<const std::string> args);
  // Sets one variable. Errors: NOT_FOUND for an unknown name; INVALID_ARGUMENT as from Parse().
  absl::Status Set(absl::string_view name, absl::string_view value);

  // Returns the arguments of the last Parse() that were no flags.
  const std::vector<std::string>& unknown() const { return unknown_; }
  std::vector<std::string> names() const;
  // Returns "usage: PROGRAM", "Flags:", and a line for each flag with its default, type and help.
  std::string Usage(absl::string_view program) const;

 private:
  struct Flag {
    std::string name;
    Variable variable;
    std::string default_value;
    std::string help;
  };
  const Flag* Find(absl::string_view name) const;

  std::vector<Flag> flags_;
  std::vector<std::string> unknown_;
};

}  // namespace tessera::serving

#include "serving/commands/unknown_argument.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/nearest_name.h"

namespace tessera::serving {

std::string DescribeUnknownArgument(absl::string_view argument, const FlagParser& flags) {
  absl::string_view name = argument.substr(0, argument.find('='));
  const bool has_dashes = absl::ConsumePrefix(&name, "--");
  std::string hint;
  if (has_dashes && flags.Find(name) != nullptr) {
    hint = absl::StrCat("; its value belongs behind a =, as in --", name, "=VALUE");
  } else if (has_dashes) {
    hint = DidYouMean(name, flags.names());
  }
  if (hint.empty()) hint = "; flags are --NAME=VALUE, and --help lists them";
  return absl::StrCat("unknown argument: ", argument, " is passed over", hint);
}

}  // namespace tessera::serving

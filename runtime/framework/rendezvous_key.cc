#include "runtime/framework/rendezvous_key.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tessera {

absl::StatusOr<RendezvousKeyParts> ParseRendezvousKey(absl::string_view key) {
  const std::vector<absl::string_view> fields = absl::StrSplit(key, ';');
  RendezvousKeyParts parts;
  const auto parse = [&] {
    if (fields.size() != 5) return false;
    parts.send_device = fields[0];
    parts.recv_device = fields[2];
    parts.tensor_name = fields[3];
    const std::pair<absl::string_view, absl::string_view> place = absl::StrSplit(fields[4], ':');
    return fields[1].size() == 16 && absl::SimpleHexAtoi(fields[1], &parts.incarnation) &&
           absl::SimpleAtoi(place.first, &parts.frame_id) &&
           absl::SimpleAtoi(place.second, &parts.iteration);
  };
  if (parse()) return parts;
  return absl::InvalidArgumentError(absl::StrCat("'", key, "' is no rendezvous key"));
}

}  // namespace tessera

#include "runtime/framework/rendezvous.h"

#include "absl/strings/str_cat.h"

namespace tessera {

std::string RendezvousKey(absl::string_view send_device, uint64_t incarnation,
                          absl::string_view recv_device, absl::string_view tensor_name,
                          int64_t frame_id, int64_t iteration) {
  return absl::StrCat(send_device, ";", absl::Hex(incarnation, absl::kZeroPad16), ";", recv_device,
                      ";", tensor_name, ";", frame_id, ":", iteration);
}

}  // namespace tessera

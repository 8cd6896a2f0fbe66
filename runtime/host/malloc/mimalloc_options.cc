// How long mimalloc holds on to free memory before it gives it back to the system: a thread's free
// memory goes when this thread allocates or frees after that, an idle thread's stays.
#include <mimalloc.h>

namespace {

// mimalloc's own times, 25 and 500 ms, are shorter than what lies between two requests for a large
// tensor, whose memory then faults in anew, page by page: a tenth of what such a request costs.
// What a version held that is unloaded goes back at once all the same.
constexpr long kDelayMillis = 5000;

// Before main(). What the environment says (MIMALLOC_DECOMMIT_DELAY) stands.
[[maybe_unused]] const bool configured = [] {
  mi_option_set_default(mi_option_decommit_delay, kDelayMillis);
  mi_option_set_default(mi_option_segment_decommit_delay, kDelayMillis);
  return true;
}();

}  // namespace

#include "runtime/framework/kernel_call.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status StatusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is not enough memory for what the kernel computes");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("the kernel computes more than any memory holds");
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("the kernel failed: ", e.what()));
  } catch (...) {
    return absl::InternalError("the kernel failed");
  }
}

}  // namespace tessera

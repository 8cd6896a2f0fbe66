#include "runtime/base/exception_status.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status StatusOfException(absl::string_view who) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(who, ": there is not enough memory"));
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(who, ": more memory is needed than any machine has"));
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat(who, " failed: ", e.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(who, " failed"));
  }
}

}  // namespace tessera

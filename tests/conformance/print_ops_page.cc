// Prints docs/ops.md: print_ops_page TENSORFLOW_KERNELS EXCEPTIONS. See scripts/ops_page.
#include <iostream>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "tests/conformance/ops_page.h"

namespace tessera {
namespace {

absl::Status Print(const std::string& kernels_file, const std::string& exceptions_file) {
  ASSIGN_OR_RETURN(const std::string kernels, ReadFile(kernels_file));
  ASSIGN_OR_RETURN(const std::string exceptions, ReadFile(exceptions_file));
  ASSIGN_OR_RETURN(const std::string page, OpsPage(kernels, exceptions));
  std::cout << page;
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: print_ops_page TENSORFLOW_KERNELS EXCEPTIONS\n";
    return 2;
  }
  const absl::Status status = tessera::Print(argv[1], argv[2]);
  if (!status.ok()) std::cerr << "print_ops_page: " << status << "\n";
  return status.ok() ? 0 : 1;
}

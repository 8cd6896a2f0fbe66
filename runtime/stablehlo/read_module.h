// Reads portable artifacts of StableHLO: MLIR bytecode whose ops are those of the VHLO dialect.
//
// The container is described at https://mlir.llvm.org/docs/BytecodeFormat, the dialect and its
// compatibility guarantees at https://openxla.org/stablehlo/compatibility.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/stablehlo/module.h"

namespace tessera::stablehlo {

// Reads an artifact. Any bytes are safe: no read is out of bounds, and memory and time grow with
// the size of the artifact but for what its constants and attributes unfold to, of which 2 GiB are
// taken. Errors: RESOURCE_EXHAUSTED above that; INVALID_ARGUMENT, also for bytecode that is no
// portable artifact; UNIMPLEMENTED, naming it, for what the format allows and nothing here can
// hold.
absl::StatusOr<Module> ReadModule(absl::string_view artifact);

}  // namespace tessera::stablehlo

// The versions that `--version` prints.
#pragma once

namespace tessera::serving {

inline constexpr char kVersion[] = "0.1.0";
inline constexpr char kReleaseDate[] = "2026-11-23";
// The releases of TensorFlow Serving and TensorFlow whose behaviour and graphs this server has.
inline constexpr char kModelServerVersion[] = "2.20.0 (Tessera 0.1.0)";
inline constexpr char kLibraryVersion[] = "2.21.0 (Tessera 0.1.0)";

}  // namespace tessera::serving

// What `--version` tells.
#pragma once

namespace tessera::serving {

inline constexpr char kVersion[] = "0.1.0";
// The releases whose behaviour and graphs this server stands in for.
inline constexpr char kModelServerVersion[] = "2.20.0 (Tessera 0.1.0)";
inline constexpr char kLibraryVersion[] = "2.21.0 (Tessera 0.1.0)";

}  // namespace tessera::serving

// The version of Tessera. The build reads the version from this file.
#pragma once

namespace tessera {

/// The version, by Semantic Versioning: before 1.0 a minor version may change the interface.
inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 1;
inline constexpr int kVersionPatch = 0;

}  // namespace tessera

// The build of this program. build_info.cmake writes the functions at each build.
#pragma once

#include <string>

namespace tessera::bench {

/// "GNU 12.2.0".
std::string build_compiler();
/// The flags of the library, and those of its kernels.
std::string build_flags();
/// The commit of the sources, with "-dirty" if they differ from it; "unknown" without git.
std::string build_commit();

}  // namespace tessera::bench

// A page of a profile: the time of each module and op.
//
//   pages::write_profile_page("profile.html", profile);
#pragma once

#include <filesystem>
#include <string>

#include "tensor/profile.h"

namespace tessera::pages {

/// Writes the page, completely or not at all. The page shows the modules as boxes as wide as their
/// time, separately for forward and backward, and the tables of Profile::cells. `title` is plain
/// text.
/// **Errors**: as write_page() and measure_machine().
void write_profile_page(const std::filesystem::path& path, Profile& profile,
                        const std::string& title = "Where the time went");

}  // namespace tessera::pages

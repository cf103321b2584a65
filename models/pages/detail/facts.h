// Tables of HTML that several pages have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/pages/comparison_page.h"
#include "tessera/models/pages/page.h"
#include "tessera/models/pages/run_log.h"
#include "tessera/models/pages/training_page.h"

namespace tessera::pages {

/// A table of texts, the first row of which is its header. It may be scrolled where it is too wide.
/// `links` are the addresses of the rows' first cells, without the header's; an empty one is none.
std::string table_html(const std::string& caption, const Rows& rows,
                       const std::vector<std::string>& links = {});

/// Two columns: names and values.
std::string facts_html(const std::string& caption, const Facts& facts);

/// The place of the charts in a body, which assets/run_charts.js draws.
inline constexpr std::string_view kCharts =
    "<h2>Curves</h2>\n<noscript><p>The curves need JavaScript.</p></noscript>\n"
    "<div class=\"charts\"></div>\n";
/// The id of their data.
inline constexpr std::string_view kRunData = "run";

/// A page with charts of these logs: {"log":"..."}, or {"runs":[{"name":"","setting":"","seed":"",
/// "log":"..."}]}. Logs are text in the format of run_log.h.
Page page_of_charts(std::string title, std::string body, std::string data);

/// "0.4321 (step 120)", or "-".
std::string at_step_text(const std::optional<AtStep>& value);

}  // namespace tessera::pages

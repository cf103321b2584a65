#include "tessera/models/pages/detail/facts.h"

#include <utility>

#include "tessera/models/pages/detail/numbers.h"
#include "tessera/models/pages/page.h"
#include "tessera/tensor/error.h"

namespace tessera::pages {

std::string table_html(const std::string& caption, const Rows& rows,
                       const std::vector<std::string>& links) {
  std::string html = "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" +
                     escape(caption) + "\"><table><caption>" + escape(caption) + "</caption>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    html += "<tr>";
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const bool is_head = i == 0 || j == 0;
      const char* const scope = i == 0 ? " scope=\"col\"" : " scope=\"row\"";
      html += is_head ? str_cat("<th", scope, ">") : std::string("<td>");
      const bool is_link = i > 0 && j == 0 && i <= links.size() && !links[i - 1].empty();
      if (is_link) html += "<a href=\"" + escape(links[i - 1]) + "\">";
      html += escape(rows[i][j]) + (is_link ? "</a>" : "") + (is_head ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string facts_html(const std::string& caption, const Facts& facts) {
  std::string html = "<table class=\"facts\"><caption>" + escape(caption) + "</caption>\n";
  for (const auto& [name, value] : facts) {
    html += "<tr><th scope=\"row\">" + escape(name) + "</th><td>" + escape(value) + "</td></tr>\n";
  }
  return html + "</table>\n";
}

Page page_of_charts(std::string title, std::string body, std::string data) {
  Page page = {.title = std::move(title), .body = std::move(body)};
  page.data = {{std::string(kRunData), std::move(data)}};
  page.styles = {std::string(asset("wide_tables.css")), std::string(asset("chart.css")),
                 std::string(asset("training.css"))};
  for (const char* name : {"chart_axes.js", "chart.js", "run_charts.js"}) {
    page.scripts.emplace_back(asset(name));
  }
  return page;
}

std::string at_step_text(const std::optional<AtStep>& value) {
  if (!value) return "-";
  return str_cat(number_text(value->value), " (step ", value->step, ")");
}

}  // namespace tessera::pages

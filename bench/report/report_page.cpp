#include "bench/report/charts.h"
#include "bench/report/report.h"
#include "bench/report/tables.h"
#include "models/pages/page.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

constexpr const char* kStyle = R"(
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, .words { text-align: left; }
tbody th { font-weight: 400; }
.machine td { text-align: left; }
.machine th { white-space: nowrap; }
td { white-space: nowrap; }
.machine td { white-space: normal; overflow-wrap: anywhere; }
th:first-child { min-width: 9rem; }
tbody tr:hover { background: var(--panel); }
.bad { color: var(--bad); }
nav a { margin-right: 1rem; }
)";

struct Section {
  std::string id, title, text, content;
};

std::string drawn(const std::vector<pages::Chart>& charts) {
  std::string html;
  for (const pages::Chart& chart : charts) {
    if (!chart.series.empty()) html += pages::chart_html(chart);
  }
  return html.empty() ? html : "<div class=\"charts\">" + html + "</div>";
}

std::string shown(const Table& table) {
  return table.empty() ? "" : to_html(table);
}

std::string machine_html(const Results& results) {
  std::string html = "<div class=\"machine\">" + to_html(machine_table(results)) + "</div>";
  for (const std::string& failure : results.failures) {
    html += "<p class=\"bad\">Wrong result, not timed: " + pages::escape(failure) + "</p>";
  }
  return html;
}

std::vector<Section> sections_of(const Results& results) {
  pages::Chart roof = roofline(results);
  roof.width = 900;
  roof.height = 420;
  const std::vector<pages::Chart> ladders = {
      ladder(results, "matmul_ladder", "matmul, 960 x 960 x 960"),
      ladder(results, "attention_ladder", "attention")};
  return {
      {"machine", "Machine", "", machine_html(results)},
      {"bandwidth", "Bandwidth",
       "Bytes read and written a second by all threads, the data in one level of the caches.",
       shown(bandwidth_table(results))},
      {"roofline", "Roofline",
       "Speed over the operations made of each byte. The roofs are the peak of multiply-adds on "
       "registers and the bandwidths above.",
       drawn({roof})},
      {"size", "Speed over size", "", drawn(over_size(results))},
      {"threads", "Speed over threads", "One case of each kind.", drawn({over_threads(results)})},
      {"ladders", "Ladders", "From the definition to the library, one idea a step.",
       drawn(ladders) + shown(ladder_table(results, "matmul_ladder")) +
           shown(ladder_table(results, "attention_ladder"))},
      {"fused", "Fused against unfused",
       "Attention in one pass, and the same made of matmul and softmax. Memory is what a call "
       "takes beyond its inputs and its result.",
       shown(fused_table(results))},
      {"cliffs", "Cliffs", "", drawn({cliffs(results)})},
      {"peers", "Other libraries",
       "Time of the best other library over ours: above 1.00 we are faster. Errors are over what "
       "rounding may do, ours first; '-' was not checked.",
       shown(peer_groups_table(results)) + shown(peers_table(results))},
      {"cases", "Every case",
       "Best and median time of a call; of peak: against multiply-adds on registers, measured "
       "next to the case; error: the largest against the definition in double, as a share of the "
       "bound on rounding.",
       shown(cases_table(results))},
  };
}

}  // namespace

std::string report_html(const Results& results) {
  std::string links;
  std::string body;
  for (const Section& section : sections_of(results)) {
    if (section.content.empty()) continue;
    links += str_cat("<a href=\"#", section.id, "\">", section.title, "</a>");
    body += str_cat("<section id=\"", section.id, "\"><h2>", section.title, "</h2>\n");
    if (!section.text.empty())
      body += "<p class=\"muted\">" + pages::escape(section.text) + "</p>\n";
    body += section.content + "</section>\n";
  }
  const pages::Page page = {
      .title = "Tessera's benchmarks",
      .body = "<main><h1>Tessera's benchmarks</h1>\n<nav class=\"screen-only\">" + links +
              "</nav>\n" + body + "</main>",
      .styles = {std::string(pages::asset("chart.css")), kStyle},
      .data = {},
      .scripts = {},
  };
  return pages::page_html(page);
}

std::string roofline_svg(const Results& results) {
  pages::Chart chart = roofline(results);
  if (chart.series.empty())
    fail_file(results.file, "at least 1 case must have FLOPs and bytes, got none");
  chart.width = 720;
  chart.height = 360;
  const std::string html = pages::chart_html(chart);
  // The figure's own picture; those of the legend stand before it.
  const std::size_t begin = html.rfind("<svg", html.find("class=\"frame\""));
  const std::size_t stop = html.rfind("</svg>") + 6;
  const std::size_t inside = html.find('>', begin) + 1;
  std::string legend;
  double y =
      190;  // The lower right has room: work that is slow though it has many operations a byte is rare.
  std::size_t which = 0;
  for (const pages::Series& series : chart.series) {
    if (series.mark == pages::Mark::kGuide) continue;
    legend += str_cat("<g class=\"s", which++ % 8, "\"><circle class=\"dot\" cx=\"580\" cy=\"",
                      y - 4, "\" r=\"4\"/><text x=\"590\" y=\"", y, "\">",
                      pages::escape(series.name), "</text></g>");
    y += 16;
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"" +
         html.substr(begin + 4, inside - begin - 4) + "<style>" +
         std::string(pages::asset("page.css")) + std::string(pages::asset("chart.css")) +
         ".chart text { font: 12px sans-serif; fill: var(--muted); }</style>" +
         "<rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>" +
         html.substr(inside, stop - inside - 6) + legend + "</svg>\n";
}

}  // namespace tessera::results

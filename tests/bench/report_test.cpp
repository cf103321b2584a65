// The picture and the tables made from results.
#include "bench/report/report.h"

#include <filesystem>

#include "tessera/tensor/error.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::results {
namespace {

namespace fs = std::filesystem;
using test::contains;

std::string one(const std::string& name, const std::string& by, int threads, double best,
                const std::string& more = "") {
  return str_cat(R"({"name":")", name, R"(","by":")", by, R"(","threads":)", threads,
                 R"(,"best_s":)", best, R"(,"median_s":)", best * 1.5,
                 R"(,"flops":2e9,"bytes":1e7,"peak_flops":2e11,"error":0.125)", more, "}");
}

/// A run with every section.
Results measured() {
  std::string cases;
  for (const std::string& item :
       {one("matmul/M:1024/N:1024/K:1024", "tessera", 2, 0.0125),
        one("matmul/M:1024/N:1024/K:1024", "openblas", 2, 0.015),
        one("matmul/M:64/N:64/K:64", "tessera", 2, 0.0131),
        one("matmul/M:64/N:64/K:64", "tessera", 1, 0.0231),
        one("attention/B:1/H:12/T:512/d:64", "tessera", 2, 0.0141),
        one("attention/B:1/H:1/Tq:8/Tk:8/d:64", "tessera", 2, 0.0161, R"(,"memory_bytes":4096)"),
        one("attention_unfused/B:1/H:1/Tq:8/Tk:8/d:64", "tessera", 2, 0.0322,
            R"(,"memory_bytes":8000000)"),
        one("matmul_ladder/step:0", "tessera", 1, 0.4, R"(,"label":"the <definition>")"),
        one("matmul_ladder/step:0", "tessera", 2, 0.2, R"(,"label":"the <definition>")")}) {
    cases += (cases.empty() ? "" : ",\n") + item;
  }
  return parse_results(
      R"({"machine":{"cpu":"A & B","threads":2,"caches":[{"level":1,"kind":"data","bytes":32768}]},
         "bandwidth":[{"level":"memory","bytes":1e8,"bytes_s":3e10}],"cases":[)" +
          cases + "]}",
      "run.json");
}

std::string text_of(const std::string& name) {
  return test::file_text(fs::path(TESSERA_SOURCE_DIR) / name);
}

TEST(ReportTest, HasEveryTableAndTheNumbers) {
  const std::string report = with_tables(text_of("bench/report.md.in"), measured(), "report.md");
  for (const char* part :
       {"| cpu | A & B |", "| caches | L1 data 32.8 kB |", "| memory | 100 MB | 30.0 |",
        "| 12.5 ms | 18.8 ms |", "| 160 | 80 % |", "| 0 | the <definition> | 5.00 | 2 % | 10.0 |",
        "| matmul | openblas | 2 | 1 | 1.20 | 1.20 |",
        "| matmul/M:1024/N:1024/K:1024 | 2 | 12.5 ms | 15.0 ms | 1.20 |", "| 4.10 kB | 0.125 |",
        "| attention_unfused/B:1/H:1/Tq:8/Tk:8/d:64 | tessera | 2 | 32.2 ms |"}) {
    EXPECT_TRUE(contains(report, part)) << part << "\n" << report;
  }
  EXPECT_TRUE(contains(report, "<!-- table: attention_ladder -->\nNot measured."));
}

TEST(ReportTest, NamesWhatWasWrong) {
  const Results results = parse_results(
      R"({"machine":{},"cases":[{"name":"softmax/rows:1/cols:1","failure":"wrong result"}]})",
      "bad.json");
  EXPECT_TRUE(
      contains(with_tables("<!-- table: failures -->\n<!-- end of table -->\n", results, "R.md"),
               "| softmax/rows:1/cols:1: wrong result |"));
}

TEST(ReportTest, TheRooflineIsAPictureOfItsOwn) {
  const std::string svg = roofline_svg(measured());
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* text : {"class=\"guide\"", ">memory 30 GB/s</text>", ">peak 200 GFLOP/s</text>",
                           ">matmul</text>", ">attention</text>"}) {
    EXPECT_TRUE(contains(svg, text)) << text << svg;
  }
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = 0; (at = svg.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("<svg"), count("</svg>"));
  EXPECT_EQ(count("<g"), count("</g>"));
  const Results none = parse_results(R"({"machine":{},"cases":[]})", "none.json");
  EXPECT_THROW(roofline_svg(none), std::runtime_error);
}

TEST(ReadmeTest, TablesBetweenMarkersAreMadeAnew) {
  const std::string text =
      "a\n<!-- table: peers -->\nold\n<!-- end of table -->\nb\n"
      "<!-- table: attention_ladder -->\nkept\n<!-- end of table -->";
  const std::string made = with_tables(text, measured(), "R.md");
  EXPECT_TRUE(contains(made, "| matmul | openblas | 2 | 1 | 1.20 | 1.20 |")) << made;
  EXPECT_FALSE(contains(made, "old"));
  EXPECT_TRUE(contains(made, "kept")) << "that ladder was not measured";
  EXPECT_EQ(with_tables(made, measured(), "R.md"), made);
  const std::string lines =
      "in `<!-- table: x -->`\r\n<!-- table: attention_ladder -->\r\n<!-- end of table -->\r\n";
  EXPECT_EQ(with_tables(lines, measured(), "R.md"), lines);
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"\n<!-- table: peers -->\n", "R.md:2: the table 'peers' must have an end"},
      {"<!-- end of table -->", "R.md:1: the end of a table must have a beginning"},
      {"<!-- table: x -->\n<!-- end of table -->", "R.md:2: table must be one of matmul_ladder"}};
  for (const auto& [markdown, words] : faults) {
    test::expect_refused([&page = markdown] { with_tables(page, measured(), "R.md"); }, words);
  }
}

TEST(ReadmeTest, CellsCannotBreakATable) {
  const Results results = parse_results(R"({"machine":{"cpu":"A | B\nC"},"cases":[)" +
                                            one("matmul/M:1/N:1/K:1", "tessera", 1, 1) + "," +
                                            one("matmul/M:1/N:1/K:1", "tessera", 2, 1) + "," +
                                            one("matmul/M:1/N:1/K:1", "openblas", 1, 1) + "," +
                                            one("matmul/M:1/N:1/K:1", "onednn", 2, 1) + "]}",
                                        "run.json");
  const auto made = [&](const std::string& name) {
    return with_tables("<!-- table: " + name + " -->\n<!-- end of table -->\n", results, "R.md");
  };
  EXPECT_TRUE(contains(made("machine"), "| cpu | A \\| B C |\n")) << made("machine");
  EXPECT_TRUE(contains(made("peers"), "| matmul | openblas | 1 |"))
      << "what ran on as many threads";
  EXPECT_TRUE(contains(made("peers"), "| matmul | onednn | 2 |")) << made("peers");
}

/// The tables of bench/README.md can be regenerated.
TEST(ReadmeTest, MarkersOfTheRepositoryAreWellFormed) {
  const std::string name = "bench/README.md";
  const std::string text = text_of(name);
  EXPECT_NO_THROW(with_tables(text, measured(), name));
  for (const char* table : {"highlights", "peers"}) {
    EXPECT_TRUE(contains(text, std::string("<!-- table: ") + table + " -->")) << table;
  }
}

}  // namespace
}  // namespace tessera::results

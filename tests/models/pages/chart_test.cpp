// Charts and their axes: round numbers, values that no axis has, hostile names.
#include "tessera/models/pages/detail/axis_ticks.h"

#include "tessera/models/pages/detail/numbers.h"
#include "tessera/tensor/error.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();
const double kNan = std::nan("");

std::string texts(const std::vector<double>& ticks) {
  std::string all;
  for (const double tick : ticks) all += (all.empty() ? "" : " ") + significant(tick, 10);
  return all;
}

TEST(ChartTest, TicksAreRoundNumbers) {
  struct Case {
    Interval interval;
    Scale scale;
    const char* want;
  };
  constexpr Scale kLinear = Scale::kLinear, kLog = Scale::kLog10;
  for (const Case& c : std::vector<Case>{
           {{0, 1}, kLinear, "0 0.2 0.4 0.6 0.8 1"},
           {{-1, 1}, kLinear, "-1 -0.5 0 0.5 1"},
           {{1, 12000}, kLinear, "5000 10000"},
           {{3.1, 3.4}, kLinear, "3.1 3.2 3.3 3.4"},
           {{0, 1e-5}, kLinear, "0 2e-06 4e-06 6e-06 8e-06 1e-05"},
           {{0, 4e9}, kLinear, "0 1000000000 2000000000 3000000000 4000000000"},
           {{1e9, 1e9 + 4}, kLinear, "1000000000 1000000001 1000000002 1000000003 1000000004"},
           {{-9e299, 9e299}, kLinear, "-5e+299 0 5e+299"},
           {{1, 1000}, kLog, "1 10 100 1000"},
           {{0.3, 8}, kLog, "0.5 1 2 5"},
           {{1e-300, 1e300}, kLog, "1e-300 1e-199 1e-98 1000 1e+104 1e+205"},
           {{3.1, 3.4}, kLog, "3.1 3.2 3.3 3.4"}}) {
    EXPECT_EQ(texts(ticks(c.interval, c.scale, 6)), c.want)
        << c.interval.low << " to " << c.interval.high;
  }
}

TEST(ChartTest, AxesEndAtRoundNumbersOrWhereTheyAreTold) {
  Chart chart = {.series = {{.points = {{1, 3.1}, {12000, 9.7}}}}};
  std::string svg = chart_svg(chart);
  for (const char* const number : {">0</text>", ">12000</text>", ">2</text>", ">10</text>"}) {
    EXPECT_TRUE(test::contains(svg, number)) << number << svg;
  }
  chart.x.low = 2000;
  chart.y = {.scale = Scale::kLog10, .high = 8};
  svg = chart_svg(chart);
  for (const char* const number : {">2000</text>", ">2</text>", ">5</text>"}) {
    EXPECT_TRUE(test::contains(svg, number)) << number << svg;
  }
  EXPECT_FALSE(test::contains(svg, ">0</text>") || test::contains(svg, ">10</text>")) << svg;
}

TEST(ChartTest, DurationsHaveUnits) {
  const std::vector<std::pair<double, const char*>> cases = {
      {0, "0 s"},    {0.7, "0.7 s"},      {9.94, "9.9 s"}, {12.3, "12 s"},      {59.6, "1 min"},
      {60, "1 min"}, {200, "3 min 20 s"}, {3600, "1 h"},   {3900, "1 h 5 min"}, {-1, "0 s"},
      {kNan, "-"},   {kInfinity, "-"},    {9.96, "10 s"},  {360000, "100 h"}};
  for (const auto& [seconds, want] : cases) EXPECT_EQ(duration_text(seconds), want) << seconds;
}

TEST(ChartTest, AxesHaveALength) {
  const std::vector<std::vector<double>> cases = {
      {},         {kNan}, {kInfinity, -kInfinity}, {0},      {5},
      {-5, -5},   {kMax}, {-9e299, 9e299},         {5e-324}, {1, 1 + 1e-15},
      {1e-9, 2e9}};
  for (const std::vector<double>& values : cases) {
    for (const Scale scale : {Scale::kLinear, Scale::kLog10}) {
      const Interval found = interval_of(values, scale);
      const Interval wide = rounded(found, scale, 6);
      const std::string what = ::testing::PrintToString(values);
      EXPECT_LT(found.low, found.high) << what;
      EXPECT_TRUE(std::isfinite(found.low) && std::isfinite(found.high)) << what;
      EXPECT_TRUE(wide.low <= found.low && wide.high >= found.high) << what;
      EXPECT_LE(ticks(wide, scale, 6).size(), 6U) << what;
      for (const double value : values) {
        if (!is_drawable(value, scale)) continue;
        const double place = position(value, wide, scale);
        EXPECT_TRUE(place >= 0 && place <= 1) << what << place;
      }
    }
  }
}

Chart chart_of(std::vector<ChartPoint> points) {
  Chart chart;
  chart.title = "Loss";
  chart.x = {.label = "step"};
  chart.y.label = "loss";
  chart.series = {{.name = "training", .points = std::move(points)}};
  return chart;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

TEST(ChartTest, WordsSayTheEndsAndExtremes) {
  EXPECT_TRUE(test::contains(
      chart_svg(chart_of({{1, 2.5}, {2, 1.25}, {1234567, 0.123456}})),
      "training: from 2.5 at 1 to 0.123456 at 1234567; smallest 0.123456 at 1234567, largest 2.5 "
      "at 1.\""));
  EXPECT_TRUE(test::contains(chart_svg(chart_of({{1, kNan}})), "training: no values."));
}

TEST(ChartTest, NamesAreText) {
  Chart chart = chart_of({{1, 1, "<b>'\"&"}});
  chart.title = "</svg><script>alert(1)</script>";
  chart.series.push_back({.name = "<i>x", .points = {{1, 2}}});
  chart.x.label = chart.y.label = "<u>";
  const std::string svg = chart_svg(chart);
  for (const char* const tag : {"<script", "<b>", "<i>", "<u>"}) {
    EXPECT_FALSE(test::contains(svg, tag));
  }
  EXPECT_TRUE(test::contains(svg, "&lt;b&gt;&#39;&quot;&amp;"));
}

// A value that cannot be drawn breaks the line, and the picture contains no NaN or infinity.
TEST(ChartTest, ValuesThatNoAxisHasBreakTheLine) {
  struct Case {
    std::vector<ChartPoint> points;
    std::size_t moves;  // of the pen
  };
  for (const Case& c : std::vector<Case>{{{}, 0},
                                         {{{1, 3}}, 1},
                                         {{{1, 3}, {2, kNan}, {3, 4}, {4, kInfinity}}, 2},
                                         {{{1, -kInfinity}}, 0},
                                         {{{1, -9e299}, {2, 9e299}}, 1},
                                         {{{1, kMax}, {2, 1}}, 1},
                                         {{{1, 1e-320}, {2, 0}}, 1}}) {
    const std::string svg = chart_svg(chart_of(c.points));
    const std::size_t line = svg.find("class=\"line\" d=\"");
    const std::string path = svg.substr(line, svg.find("/>", line) - line);
    EXPECT_EQ(count(path, "M"), c.moves) << svg;
    for (const char* const bad : {"=\"nan", "=\"-nan", "=\"inf", "Mnan", "Lnan", " nan L"}) {
      EXPECT_FALSE(test::contains(svg, bad));
    }
  }
}

TEST(ChartTest, AZeroOnALogarithmicAxisBreaksTheLine) {
  Chart chart = chart_of({{1, 10}, {2, 0}, {3, 1000}});
  chart.y.scale = Scale::kLog10;
  const std::string svg = chart_svg(chart);
  const std::size_t line = svg.find("class=\"line\" d=\"");
  EXPECT_EQ(count(svg.substr(line, svg.find("/>", line) - line), "M"), 2U);
}

TEST(ChartTest, EachSeriesHasItsOwnLook) {
  Chart chart = chart_of({});
  chart.series.clear();
  for (int i = 0; i < 12; ++i) {
    chart.series.push_back({.name = str_cat("series ", i), .points = {{1, 1}, {2, 2.5}}});
  }
  const std::string svg = chart_svg(chart);
  for (const char* const classes : {"s0 d0", "s7 d7", "s0 again d1", "s3 again d4"}) {
    EXPECT_EQ(count(svg, str_cat("<g class=\"", classes, "\">")), 1U) << svg;
  }
}

TEST(ChartTest, AFileHasItsStyleAndALegend) {
  Chart chart = {.title = "a < b", .series = {{.points = {{0, 1, "here"}, {1, 2, ""}}}}};
  const std::string svg = chart_svg(chart);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find(">here</text>"), std::string::npos);
  chart.series.front().name = "<one>";
  EXPECT_FALSE(test::contains(chart_svg(chart), ">&lt;one&gt;</text>"));
  chart.legend = 100;
  EXPECT_TRUE(test::contains(chart_svg(chart), ">&lt;one&gt;</text>"));
}

}  // namespace
}  // namespace tessera::pages

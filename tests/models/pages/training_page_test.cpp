// The report of a training run, and several runs on one page.
#include "models/pages/training_page.h"

#include "models/pages/run_log.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

const std::string kLogHeader = std::string(kRunLogHeader) + "\n";

TrainingReport report_of(const std::string& rows) {
  TrainingReport report;
  report.title = "train_<b>";
  report.state = "epoch 1 of 2";
  report.log = kLogHeader + rows;
  report.options = {{"--text", "</table><script>"}};
  report.defaults = {{"--epochs", "4"}, {"--seed", "0"}};
  return report;
}

TEST(TrainingPageTest, HasTheLogsNumbers) {
  TrainingReport report =
      report_of("1,1,2.3125,0.001,1.5,64,0.5,0.25,,\n2,1,1.75,0.0005,1.25,64,1,0.5,2.125,0.375\n");
  report.is_running = true;
  report.classes = {{"Held out", {"<yes>", "no"}, {{3, 1}, {0, 0}}}};
  const std::string html = page_html(training_page(report));
  for (const char* const number :
       {"\\n1,1,2.3125,0.001,1.5,64,0.5,0.25,,\\n2,1,1.75,0.0005,1.25,64,1,0.5,2.125,0.375\\n",
        "<div class=\"charts\"></div>", "<td>2.125</td>", "\"running\":true",
        "--share:0.750\">3</td>", "<td class=\"none\">0</td>", "<td>75.0 %</td>", "<td>-</td>",
        "&lt;yes&gt;", "<td>1 s</td>", "<summary>2 options with their defaults</summary>"}) {
    EXPECT_TRUE(contains(html, number));
  }
  EXPECT_FALSE(contains(html, "</table><script>"));
  EXPECT_FALSE(contains(html, "train_<b>"));
}

TEST(TrainingPageTest, AnEmptyRunAndOneStepArePages) {
  const std::string empty = page_html(training_page(report_of("")));
  EXPECT_TRUE(contains(empty, "No step is done yet."));
  const std::string one = page_html(training_page(report_of("1,1,nan,0,0,0,0.000,nan,,\n")));
  EXPECT_TRUE(contains(one, "<td>nan</td>"));
  EXPECT_TRUE(contains(one, "The last step of each epoch"));
}

// The run is just writing the last line: neither the tables nor the charts show half a number.
TEST(TrainingPageTest, ALineWithoutItsEndIsNotDrawn) {
  const std::string html = page_html(training_page(report_of("1,1,2.5,,,,,,,\n2,1,1.6543")));
  EXPECT_TRUE(contains(html, "\\n1,1,2.5,,,,,,,\\n\"}"));
  EXPECT_FALSE(contains(html, "1.6543"));
}

TEST(TrainingPageTest, OptionsThatDifferAreFirst) {
  TrainingReport report = report_of("");
  const std::string html = page_html(training_page(report));
  EXPECT_LT(html.find("--text"), html.find("<details>"));
  EXPECT_GT(html.find("--epochs"), html.find("<details>"));
  report.options.clear();
  EXPECT_TRUE(contains(page_html(training_page(report)), "All options have their defaults."));
}

TEST(TrainingPageTest, LongNamesOfManyClassesRunUpwards) {
  ConfusionMatrix classes = {.title = "Test", .labels = {}, .counts = {}};
  for (std::size_t i = 0; i < 26; ++i) {
    classes.labels.emplace_back(1, static_cast<char>('a' + i));
    classes.counts.emplace_back(26, 1);
  }
  TrainingReport report = report_of("");
  report.classes = {classes};
  EXPECT_TRUE(contains(page_html(training_page(report)), "<table class=\"classes many\">"));
  report.classes.front().labels[3] = "dates";
  EXPECT_TRUE(contains(page_html(training_page(report)), "<table class=\"classes many turned\">"));
}

TEST(TrainingPageTest, ManyClassesAreAListOfMistakes) {
  ConfusionMatrix classes = {.title = "Test", .labels = {}, .counts = {}};
  for (std::size_t i = 0; i < 61; ++i) {
    classes.labels.push_back("class" + std::to_string(i));
    classes.counts.emplace_back(61, 0);
  }
  classes.counts[7][9] = 12;
  classes.counts[9][7] = 40;
  TrainingReport report = report_of("");
  report.classes = {classes};
  const std::string html = page_html(training_page(report));
  EXPECT_TRUE(contains(html,
                       "<th scope=\"row\">class9</th><td>class7</td><td>40</td></tr>\n"
                       "<tr><th scope=\"row\">class7</th><td>class9</td><td>12</td>"));
}

TEST(TrainingPageTest, CountsHaveARowAndAColumnPerLabel) {
  TrainingReport report = report_of("");
  report.classes = {{"Test", {"a", "b"}, {{1, 2}}}};
  EXPECT_TRUE(test::throws("training_page",
                           {"counts of 'Test' must have one row per label, 2, got 1"},
                           [&] { training_page(report); }));
  report.classes = {{"Test", {"a", "b"}, {{1, 2}, {3, 4, 5}}}};
  EXPECT_TRUE(test::throws("training_page",
                           {"a row of counts of 'Test' must have one number per label, 2, got 3"},
                           [&] { training_page(report); }));
}

}  // namespace
}  // namespace tessera::pages

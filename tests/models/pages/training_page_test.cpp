// Logs as they are written and read again, and the report of a training run.
#include "tessera/models/pages/training_page.h"

#include "tessera/models/pages/run_log.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

const std::string kHeader = std::string(kRunLogHeader) + "\n";

TEST(RunLogTest, IsReadAsItWasWritten) {
  LoggedStep plain = {.step = 1, .epoch = 1, .loss = 2.0 / 3, .learning_rate = 1e-5};
  LoggedStep full = {.step = 2000000,
                     .epoch = 3,
                     .loss = std::nan(""),
                     .learning_rate = 0,
                     .gradient_norm = 1.5,
                     .tokens = 1234567,
                     .seconds = 12345.6789,
                     .accuracy = 0.5,
                     .held_out_loss = 0.25,
                     .held_out_accuracy = 1};
  const std::string text = kHeader + run_log_line(plain) + run_log_line(full);
  EXPECT_EQ(text, kHeader +
                      "1,1,0.666667,1e-05,,,,,,\n"
                      "2000000,3,nan,0,1.5,1234567,12345.679,0.5,0.25,1\n");
  const std::vector<LoggedStep> steps = read_run_log(text, "log");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].loss, 0.666667);
  EXPECT_FALSE(steps[0].seconds);
  EXPECT_TRUE(std::isnan(steps[1].loss));
  EXPECT_EQ(steps[1].tokens, 1234567);
  EXPECT_EQ(kHeader + run_log_line(steps[0]) + run_log_line(steps[1]), text);
}

TEST(RunLogTest, TakesColumnsByName) {
  const std::vector<LoggedStep> steps =
      read_run_log("loss,colour,step\r\n0.5,red,3\r\n0.25,blue,9\r\n0.1,gr", "log");
  ASSERT_EQ(steps.size(), 2U) << "a line that has no end is not whole";
  EXPECT_EQ(steps[1].step, 9);
  EXPECT_EQ(steps[1].loss, 0.25);
  EXPECT_TRUE(read_run_log("step,loss\n", "log").empty());
  EXPECT_TRUE(read_run_log("step,loss", "log").empty());
}

TEST(RunLogTest, NamesFileAndLineOfWhatIsWrong) {
  const std::vector<std::array<std::string, 2>> cases = {
      {"", "a.csv: line 1: header must have the columns step and loss, got an empty file"},
      {"step,epoch\n1,1\n", "a.csv: line 1: header must have the columns step and loss"},
      {"1,0.5\n2,0.4\n", "a.csv: line 1: header must have"},
      {"step,loss\n1,0.5\n2\n", "a.csv: line 3: must have 2 cells as the header, got 1"},
      {"step,loss\n1,0.5,7\n", "a.csv: line 2: must have 2 cells"},
      {"step,loss\n\n1,0.5\n", "a.csv: line 2: must have 2 cells"},
      {"step,loss\n1,much\n", "a.csv: line 2: loss: must be a number, got 'much'"},
      {"step,loss\n1,\n", "a.csv: line 2: loss: must be a number, got ''"},
      {"step,loss\n1,0.5x\n", "a.csv: line 2: loss: must be a number, got '0.5x'"},
      {"step,loss\n1.5,1\n", "a.csv: line 2: step: must be an integer, got '1.5'"},
      {"step,loss\nnan,1\n", "a.csv: line 2: step: must be an integer"},
      {"step,loss\n-1,1\n", "a.csv: line 2: step: must be an integer"},
      {"step,loss\n5,1\n5,1\n", "a.csv: line 3: step must be greater than 5, got 5"},
      {"step,loss,accuracy\n5,1,\x01\n", "a.csv: line 2: accuracy: must be a number, got '\\x01'"},
  };
  for (const auto& [text, want] : cases) {
    test::expect_refused([&log = text] { (void)read_run_log(log, "a.csv"); }, want);
  }
}

TEST(RunLogTest, TheSummaryIsOfTheWholeRun) {
  const std::string log = kHeader +
                          "1,1,nan,0.1,1,100,10,0.1,,\n"
                          "2,1,2,0.1,1,100,20,0.4,1.5,0.3\n"  // its time begins again
                          "3,2,0.5,0.1,1,100,5,0.9,1.25,0.7\n"
                          "4,2,0.75,0.1,1,100,20,0.8,1.75,0.6\n";
  const std::vector<LoggedStep> steps = read_run_log(log, "log");
  const RunSummary summary = summary_of(steps);
  EXPECT_EQ(summary.steps, 4);
  EXPECT_EQ(summary.epochs, 2);
  EXPECT_EQ(summary.last_loss->value, 0.75);
  EXPECT_EQ(summary.best_loss->step, 3);
  EXPECT_EQ(summary.last_held_out->value, 1.75);
  EXPECT_EQ(summary.best_held_out->step, 3);
  EXPECT_EQ(summary.best_accuracy->value, 0.7) << "the held-out one, where there is one";
  EXPECT_EQ(elapsed(steps), (std::vector<double>{10, 20, 25, 40}));
  EXPECT_EQ(summary.seconds, 40);
  EXPECT_EQ(summary.tokens_per_second, 10);
  const RunSummary empty = summary_of({});
  EXPECT_FALSE(empty.last_loss || empty.seconds || empty.tokens_per_second);
}

using namespace test;

TrainingReport report_of(const std::string& rows) {
  TrainingReport report;
  report.title = "train_<b>";
  report.state = "epoch 1 of 2";
  report.log = kHeader + rows;
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

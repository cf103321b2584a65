// The output of --help and --version, for each program of examples/ that has options.
#include "tests/programs/help_form.h"

#include "tessera/tensor/error.h"
#include "tessera/tensor/version.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class Help : public Programs {
 protected:
  /// The programs with a Command.
  static std::vector<std::string> programs() {
    const std::regex command("\\n *(examples::)?(Training)?Command command\\(");
    std::vector<std::string> names;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(TESSERA_SOURCE_DIR) / "examples")) {
      if (entry.path().extension() == ".cpp" &&
          std::regex_search(file_text(entry.path()), command)) {
        names.push_back(entry.path().stem());
      }
    }
    EXPECT_GE(names.size(), 16U);
    return names;
  }
};

TEST_F(Help, OptionsAreNounPhrasesWithDefaultsAndUnits) {
  for (const std::string& program : programs()) {
    const std::string help = output_of(program, "--help");
    EXPECT_GE(help_entries(help).size(), 3U) << help;
    EXPECT_EQ(help_faults(help), std::vector<std::string>()) << program;
  }
}

TEST_F(Help, TheVersionIsTesseras) {
  const std::string version =
      str_cat(" (Tessera) ", kVersionMajor, '.', kVersionMinor, '.', kVersionPatch, '\n');
  for (const std::string& program : programs()) {
    EXPECT_EQ(output_of(program, "--version"), program + version);
  }
}

TEST_F(Help, TheRuleItself) {
  const auto faults = [](const std::string& entries) {
    return help_faults("Does a thing.\nUsage: x [OPTIONS]\n\nOptions:\n" + entries);
  };
  const std::vector<std::string> none;
  EXPECT_EQ(faults("  -h,--help                       this help\n"
                   "  --model TEXT REQUIRED           folder of the model\n"
                   "  --top INT=5                     maximum number\n"
                   "                                  of lines\n"
                   "  --task TEXT:{classification,regression} [auto]\n"
                   "                                  kind of task\n"
                   "  --threads INT                   threads per process; all if absent\n\n"
                   "Environment:\n  GHz   the clock.\n"),
            none);
  EXPECT_EQ(faults("  -h,     --help                  this help\n"
                   "          --seconds FLOAT [1]     seconds of measurement\n"),
            none);
  for (const auto& [entry, fault] : std::vector<std::pair<std::string, std::string>>{
           {"--top INT [5]  the lines", "--top INT [5]: begins with 'the'"},
           {"--list  print the names", "--list: begins with 'print'"},
           {"--atol FLOAT [0]  numbers may be so far apart", "--atol FLOAT [0]: says 'so far'"},
           {"--json  JSON output.", "--json: ends with a full stop"},
           {"--top INT  maximum number of lines", "--top INT: has no default"},
           {"--seconds FLOAT [1]  time of measurement", "--seconds FLOAT [1]: has no unit"},
           {"--bare", "--bare: has no text"}}) {
    EXPECT_EQ(faults("  " + entry + "\n"), std::vector{fault});
  }
}

}  // namespace
}  // namespace tessera::test

// Writes one C++ file with the checks of lessons on the learner's code, on the solution, and on the
// solution with each mistake of a table, each in its own namespace:
//     exercise_variants FOLDER_OF_EXERCISES MISTAKES FILE LESSON...
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.good() || text.str().empty()) throw std::runtime_error("cannot read " + path);
  return text.str();
}

/// The text with `from` replaced, which must be in it once.
std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  if (place == std::string::npos || text.find(from, place + 1) != std::string::npos) {
    throw std::runtime_error("a mistake must replace text that is there once, got " + from);
  }
  return std::string(text).replace(place, from.size(), to);
}

struct Mistake {
  std::string name, hint, code;
};

/// The lesson's mistakes, planted into `solution`. In the table, they follow the lesson's name.
std::vector<Mistake> mistakes_of(const std::string& lesson, const std::string& table,
                                 const std::string& solution) {
  const std::string heading = "\n" + lesson + "\n\n";
  const std::size_t place = table.find(heading);
  if (place == std::string::npos) throw std::runtime_error("no mistakes are listed for " + lesson);
  std::istringstream lines(table.substr(place + heading.size()));
  std::vector<Mistake> mistakes;
  std::string from;
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const std::string text = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("- ")) {
      from = text;
    } else if (line.starts_with("+")) {
      mistakes.back().code = replaced(mistakes.back().code, from, text);
    } else {
      const std::size_t colon = line.find(": ");
      mistakes.push_back({line.substr(0, colon), line.substr(colon + 2), solution});
    }
  }
  return mistakes;
}

/// The numbers of the exercises that a learner has not solved, each in quotes.
std::string unsolved_in(const std::string& code) {
  std::string numbers;
  const std::string call = "  unsolved(";
  for (std::size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
    numbers += code.substr(at + call.size(), 7) + ",";  // "000.1"
  }
  return numbers;
}

const std::string kNamespace = "namespace tessera::exercises";

/// The file to be written: includes first, then the variants, then their table.
class Variants {
 public:
  void add(const std::string& lesson, const std::string& name, const std::string& wanted,
           const std::string& code) {
    const std::string space = "v" + std::to_string(count_++);
    std::istringstream lines(code);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(kNamespace)) line.insert(kNamespace.size(), "::" + space);
      (line.starts_with("#include") ? includes_ : body_) += line + '\n';
    }
    table_ += "    {\"" + lesson + "\", \"" + name + "\", {" + wanted + "}, " + space +
              "::checks::all_exercises},\n";
  }

  std::string text() const {
    return includes_ + "#include \"tests/programs/exercise_variants.h\"\n" + body_ +
           "namespace tessera::exercises {\nconst std::vector<Variant> kVariants = {\n" + table_ +
           "};\n}  // namespace tessera::exercises\n";
  }

 private:
  int count_ = 0;
  std::string includes_, body_, table_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string folder = argv[1];
    const std::string table = text_of(argv[2]);
    Variants variants;
    for (int i = 4; i < argc; ++i) {
      const std::string lesson = argv[i];
      const std::string checks = text_of(folder + "/checks/" + lesson + ".cpp");
      const std::string yours = text_of(folder + '/' + lesson + ".cpp");
      const std::string solution = text_of(folder + "/solutions/" + lesson + ".cpp");
      variants.add(lesson, "unsolved", unsolved_in(yours), yours + checks);
      variants.add(lesson, "solved", "", solution + checks);
      for (const Mistake& mistake : mistakes_of(lesson, table, solution)) {
        variants.add(lesson, mistake.name, '"' + mistake.hint + '"', mistake.code + checks);
      }
    }
    std::ofstream file(argv[3]);
    file << variants.text();
    return file.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "exercise_variants: " << error.what() << std::endl;
    return 2;
  }
}

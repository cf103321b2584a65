// A file that never changes: `.ci/check time` compares the processor time of a build with that of
// compiling this file.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

struct Work {
  using Key = std::array<int, 2>;
  using Value = std::variant<std::string, std::vector<double>, std::map<Key, std::string>>;

  std::map<Key, Value> ordered;
  std::unordered_map<std::string, std::function<double(const Key&)>> functions;
  std::set<std::vector<Key>> sets;

  std::string run(const std::string& text) {
    std::ostringstream out;
    std::vector<Key> keys(text.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      std::iota(keys[i].begin(), keys[i].end(), text[i]);
    std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return b < a; });
    std::partial_sort(keys.begin(), keys.begin() + keys.size() / 2, keys.end());
    for (const Key& key : keys)
      ordered.insert_or_assign(key, std::map<Key, std::string>{{key, text}});
    functions[text] = [total = keys](const Key& key) {
      return std::accumulate(key.begin(), key.end(), static_cast<double>(total.size()));
    };
    sets.insert(keys);
    for (const auto& [key, value] : ordered) {
      out << std::visit([](const auto& v) { return v.size(); }, value) << functions[text](key);
    }
    return std::regex_replace(out.str(), std::regex("[0-9]+"), "#");
  }
};

}  // namespace

int main(int, char** argv) {
  std::cout << Work().run(argv[0]) << '\n';
}

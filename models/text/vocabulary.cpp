#include "models/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "models/text/text_file.h"
#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

constexpr std::array<const char*, Vocabulary::kSpecialCount> kSpecialTokens = {"[PAD]", "[UNK]",
                                                                               "[CLS]", "[MASK]"};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_letter_or_digit(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_punctuation(char c) {
  return c > ' ' && c < 0x7f && !is_letter_or_digit(c);
}

/// How often a token occurs, and how many others had occurred before it first did.
struct Occurrence {
  index_t count = 0;
  index_t order = 0;
};

/// The escapes of a vocabulary's text: the letter after the backslash, and what it stands for.
constexpr std::array<std::pair<char, char>, 3> kEscapes = {
    {{'n', '\n'}, {'r', '\r'}, {'\\', '\\'}}};

std::string escaped(std::string_view token) {
  std::string text;
  for (const char c : token) {
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const auto& e) { return e.second == c; });
    if (escape != kEscapes.end()) text += '\\';
    text += escape != kEscapes.end() ? escape->first : c;
  }
  return text;
}

/// The inverse of escaped; nothing where `text` holds another escape.
std::optional<std::string> unescaped(std::string_view text) {
  std::string token;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      token += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const auto& e) { return e.first == text[i]; });
    if (escape == kEscapes.end()) return std::nullopt;
    token += escape->second;
  }
  return token;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool continues = false;  // whether the next character may belong to the last word
  for (const char c : text) {
    const bool joins = !is_space(c) && !is_punctuation(c);
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    if (joins && continues) {
      words.back() += small;
    } else if (!is_space(c)) {
      words.emplace_back(1, small);
    }
    continues = joins;
  }
  return words;
}

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = code_point_size(text.substr(at));
    require(size > 0, "split_characters", "byte ", at,
            " is not UTF-8: ", printable(text.substr(at, 1)));
    characters.emplace_back(text.substr(at, size));
    at += size;
  }
  return characters;
}

Vocabulary::Vocabulary(bool has_words) : has_words_(has_words) {
  for (const char* const token : kSpecialTokens) add(token);
}

bool Vocabulary::add(std::string token) {
  if (!ids_.emplace(token, size()).second) return false;
  tokens_.push_back(std::move(token));
  return true;
}

std::vector<std::string> Vocabulary::split(std::string_view text) const {
  return has_words_ ? split_words(text) : split_characters(text);
}

Vocabulary Vocabulary::build(bool has_words, std::span<const std::string> texts,
                             const VocabularyOptions& options) {
  require(options.min_count >= 1, "Vocabulary", "min_count must be at least 1, got ",
          options.min_count);
  require(options.max_size == 0 || options.max_size >= kSpecialCount, "Vocabulary",
          "max_size must be 0 or at least ", kSpecialCount, ", got ", options.max_size);
  Vocabulary result(has_words);
  std::map<std::string, Occurrence> occurrences;
  for (const std::string& text : texts) {
    for (std::string& token : result.split(text)) {
      const auto order = std::ssize(occurrences);
      const auto at = occurrences.try_emplace(std::move(token), Occurrence{0, order}).first;
      ++at->second.count;
    }
  }
  std::vector<const std::pair<const std::string, Occurrence>*> sorted;
  for (const auto& token : occurrences) {
    if (token.second.count >= options.min_count) sorted.push_back(&token);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.count != b->second.count ? a->second.count > b->second.count
                                              : a->second.order < b->second.order;
  });
  for (const auto* token : sorted) {
    if (result.size() == options.max_size) break;
    result.add(token->first);
  }
  return result;
}

Vocabulary Vocabulary::of_words(std::span<const std::string> texts,
                                const VocabularyOptions& options) {
  return build(true, texts, options);
}

Vocabulary Vocabulary::of_characters(std::span<const std::string> texts,
                                     const VocabularyOptions& options) {
  return build(false, texts, options);
}

index_t Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::token(index_t id) const {
  require(id >= 0 && id < size(), "Vocabulary", "no token has the number ", id, "; there are ",
          size());
  return tokens_[static_cast<std::size_t>(id)];
}

std::vector<index_t> Vocabulary::encode(std::string_view text) const {
  std::vector<index_t> ids;
  for (const std::string& part : split(text)) ids.push_back(id(part));
  return ids;
}

std::string Vocabulary::decode(std::span<const index_t> ids) const {
  std::string text;
  for (const index_t id : ids) {
    if (has_words_ && !text.empty()) text += ' ';
    text += token(id);
  }
  return text;
}

std::string Vocabulary::to_text() const {
  std::string text = has_words_ ? "words\n" : "characters\n";
  for (const std::string& token : tokens_) text += escaped(token) + '\n';
  return text;
}

Vocabulary Vocabulary::from_text(std::string_view text, const std::string& file) {
  index_t line = 0;
  const auto fail_here = [&](const auto&... parts) {
    fail_file(file, "line ", line, ": ", parts...);
  };
  const auto next_line = [&] {
    ++line;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) fail_here("the text ends, cut short");
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end + 1);
    return found;
  };
  const std::string_view kind = next_line();
  if (kind != "words" && kind != "characters") {
    fail_here("wanted 'words' or 'characters', got ", printable(kind));
  }
  Vocabulary result(kind == "words");
  for (const char* const special : kSpecialTokens) {
    const std::string_view found = next_line();
    if (found != special) fail_here("wanted ", special, ", got ", printable(found));
  }
  while (!text.empty()) {
    const std::string_view written = next_line();
    const std::optional<std::string> token = unescaped(written);
    if (!token || find_invalid_utf8(*token) != std::string::npos ||
        result.split(*token) != std::vector{*token}) {
      fail_here(printable(written), " is not one of the ", kind, " that a text can have");
    }
    if (!result.add(*token)) fail_here(printable(written), " stands here twice");
  }
  return result;
}

void Vocabulary::save(const std::filesystem::path& path) const {
  const std::string text = to_text();
  write_file(path, {std::as_bytes(std::span(text))});
}

Vocabulary Vocabulary::load(const std::filesystem::path& path) {
  return from_text(read_text(path), path.string());
}

}  // namespace tessera::text

// Text to a JSON document, in one pass without recursion.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <utility>

#include "tensor/io/file.h"
#include "tensor/io/json_document.h"
#include "tensor/io/utf8.h"
#include "tensor/keyed_hash.h"

namespace tessera {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

struct Json::Builder {
  Document& document;
  const JsonLimits& limits;
  std::string& text = document.bytes;
  std::size_t at = 0;
  std::vector<std::uint32_t> open = {};  // the lists and objects around the next value

  [[noreturn]] void refuse() const {
    constexpr std::size_t kShown = 20;
    const std::string_view rest = std::string_view(text).substr(std::min(at, text.size()), kShown);
    fail_file(document.file, "byte ", at, ": not JSON, ",
              rest.empty() ? "the text ends" : "at " + printable(rest));
  }
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  void skip_space() {
    while (at < text.size() &&
           (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
      ++at;
    }
  }
  void want(char c) {
    skip_space();
    if (peek() != c) refuse();
    ++at;
  }

  std::uint32_t add(bool keyed) {
    if (std::ssize(document.nodes) >= limits.values) {
      fail_file(document.file, "more than ", limits.values, " values");
    }
    document.nodes.emplace_back(at, keyed);
    return static_cast<std::uint32_t>(document.nodes.size() - 1);
  }
  void end(std::uint32_t node, std::size_t size) {
    document.nodes[node].size = static_cast<std::uint32_t>(size);
  }

  /// All of the document.
  void read() {
    if (text.starts_with("\xef\xbb\xbf")) at = 3;  // a byte order mark
    reserve();
    read_value(false);
    while (!open.empty()) read_next();
    skip_space();
    if (at < text.size()) refuse();
  }

  /// Room for all values, at once: growing would take it twice. There are fewer than one in two
  /// bytes, and what is not touched takes no memory.
  void reserve() {
    const auto seen = std::count_if(text.begin(), text.end(), [](char c) {
      return c == ',' || c == ':' || c == '[' || c == '{';
    });
    document.nodes.reserve(
        static_cast<std::size_t>(std::clamp<index_t>(seen + 1, 0, limits.values)));
  }

  /// What comes next in the innermost list or object: a value, or its end.
  void read_next() {
    const std::uint32_t around = open.back();
    const bool object = document.first(around) == '{';
    const bool first = document.nodes.size() == around + std::size_t{1};
    skip_space();
    if (peek() == (object ? '}' : ']')) {
      ++at;
      end(around, document.nodes.size());
      open.pop_back();
      if (object) refuse_equal_keys(around);
      return;
    }
    if (!first) want(',');
    if (!object) return read_value(false);
    skip_space();
    if (peek() != '"') refuse();
    read_text(add(false));
    want(':');
    read_value(true);
  }

  void read_value(bool keyed) {
    skip_space();
    const char c = peek();
    if (c == '[' || c == '{') {
      if (std::ssize(open) >= limits.depth) {
        fail_file(document.file, "lists and objects inside each other more than ", limits.depth,
                  " deep");
      }
      open.push_back(add(keyed));
      ++at;
    } else if (c == '"') {
      read_text(add(keyed));
    } else if (c == '-' || is_digit(c)) {
      read_number(add(keyed));
    } else {
      read_word(keyed);
    }
  }

  void read_word(bool keyed) {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!std::string_view(text).substr(at).starts_with(word)) continue;
      end(add(keyed), word.size());
      at += word.size();
      return;
    }
    refuse();
  }

  void read_number(std::uint32_t node) {
    const std::size_t begin = at;
    const auto digits = [&] {
      if (!is_digit(peek())) refuse();
      while (is_digit(peek())) ++at;
    };
    if (peek() == '-') ++at;
    const bool zero = peek() == '0';
    const std::size_t whole = at;
    digits();
    if (zero && at > whole + 1) {
      at = whole + 1;
      refuse();
    }
    if (peek() == '.') {
      ++at;
      digits();
    }
    const bool scaled = peek() == 'e' || peek() == 'E';
    if (scaled) {
      ++at;
      if (peek() == '+' || peek() == '-') ++at;
      digits();
    }
    end(node, at - begin);
    if (!scaled && at - begin <= kShortNumber) return;
    double value = 0;
    const auto error = std::from_chars(text.data() + begin, text.data() + at, value).ec;
    if (error == std::errc::result_out_of_range && !is_below_one(begin, at)) {
      at = begin;
      refuse();  // infinite
    }
  }
  static constexpr std::size_t kShortNumber = 300;  // without an exponent it is finite

  /// Whether a number out of range is so because it is tiny.
  bool is_below_one(std::size_t begin, std::size_t end) const {
    const std::string_view number = std::string_view(text).substr(begin, end - begin);
    const std::size_t e = std::min(number.find_first_of("eE"), number.size());
    const std::string_view mantissa = number.substr(0, e);
    const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return true;
    index_t exponent = 0;
    if (e < number.size()) {
      const std::size_t sign = number[e + 1] == '+' ? 1 : 0;
      const char* const from = number.data() + e + 1 + sign;
      const auto error = std::from_chars(from, number.data() + number.size(), exponent).ec;
      if (error != std::errc()) return *from == '-';
    }
    const index_t digits = static_cast<index_t>(dot) - static_cast<index_t>(first);
    return digits + exponent <= 0;  // far from 1, so the digit more or less of a dot is no matter
  }

  void read_text(std::uint32_t node) {
    ++at;
    const std::size_t begin = at;
    while (at < text.size() && is_plain(text[at])) ++at;
    char* to = text.data() + at;
    while (peek() != '"') {
      const char c = peek();
      if (is_plain(c)) {
        *to++ = c;
        ++at;
      } else if (c == '\\') {
        to = read_escape(to);
      } else {
        const std::size_t size = detail::code_point_size(std::string_view(text).substr(at));
        if (size < 2) refuse();  // no UTF-8, or a control character
        for (const std::size_t stop = at + size; at < stop; ++at) *to++ = text[at];
      }
    }
    ++at;
    end(node, static_cast<std::size_t>(to - text.data()) - begin);
  }
  static bool is_plain(char c) { return c >= ' ' && c != '"' && c != '\\'; }

  /// What an escape stands for is never longer than the escape.
  char* read_escape(char* to) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    ++at;
    const std::size_t simple = at < text.size() ? kLetters.find(text[at]) : std::string::npos;
    if (simple != std::string::npos) {
      ++at;
      *to++ = kMeant[simple];
      return to;
    }
    std::uint32_t code = read_unit();
    if (code >= 0xd800 && code <= 0xdbff) {
      if (peek() != '\\') refuse();
      ++at;
      const std::uint32_t low = read_unit();
      if (low < 0xdc00 || low > 0xdfff) refuse();
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      refuse();
    }
    return detail::write_utf8(code, to);
  }
  /// uXXXX
  std::uint32_t read_unit() {
    if (peek() != 'u') refuse();
    ++at;
    std::uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit(c) && !(lower >= 'a' && lower <= 'f')) refuse();
      unit = unit << 4 | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return unit;
  }

  void refuse_equal_keys(std::uint32_t object) const {
    std::size_t count = 0;
    const std::uint32_t stop = document.nodes[object].size;
    for (std::uint32_t key = object + 1; key < stop; key = document.after(key + 1)) ++count;
    if (count < 2) return;
    std::vector<std::uint32_t> places(std::bit_ceil(2 * count));  // 0: free; the top is no key
    const KeyedHash hash;
    for (std::uint32_t key = object + 1; key < stop; key = document.after(key + 1)) {
      const std::string_view own = document.text(key);
      std::size_t place = hash(own) & (places.size() - 1);
      for (; places[place] != 0; place = (place + 1) & (places.size() - 1)) {
        if (document.text(places[place]) != own) continue;
        fail_file(document.file, "the key ", printable(own), " stands twice in one object");
      }
      places[place] = key;
    }
  }
};

Json parse_own_json(std::string text, const std::string& file, const JsonLimits& limits) {
  const index_t most = std::min<index_t>(limits.bytes, std::numeric_limits<std::int32_t>::max());
  if (std::ssize(text) > most) {
    fail_file(file, text.size(), " bytes, more than the ", most, " that are read");
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos) fail_file(file, "byte ", zero, ": a zero byte");
  auto document = std::make_shared<Json::Document>();
  document->file = file;
  document->bytes = std::move(text);
  Json::Builder{*document, limits}.read();
  return {std::move(document), 0};
}

Json parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  if (std::ssize(text) > limits.bytes) {
    fail_file(file, text.size(), " bytes, more than the ", limits.bytes, " that are read");
  }
  return parse_own_json(std::string(text), file, limits);
}

}  // namespace tessera

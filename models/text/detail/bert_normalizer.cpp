#include "models/text/detail/bert_normalizer.h"

#include "models/text/detail/unicode.h"
#include "models/text/detail/unicode_forms.h"

namespace tessera::text {

BertNormalizer::BertNormalizer(const BertNormalizerOptions& options) : options_(options) {
  for (std::size_t i = 0; i < ascii_.size(); ++i) {
    const auto code = static_cast<char32_t>(i);
    ascii_[i] = static_cast<char>(code);
    if (options.clean_text) {
      if (code == 0 || is_control(code)) {
        ascii_[i] = 0;
      } else if (is_space(code)) {
        ascii_[i] = ' ';
      }
    }
    if (options.lowercase && code >= 'A' && code <= 'Z') ascii_[i] = static_cast<char>(code | 0x20);
  }
}

void BertNormalizer::operator()(AlignedText& text) const {
  const auto becomes = [&](char c) { return ascii_[static_cast<unsigned char>(c)]; };
  const std::size_t size = text.text.size();
  std::size_t at = 0;  // everything before has been written in place
  std::size_t end = find_beyond_ascii(text.text);
  // A NUL that is kept is treated like one that is removed; the slower loop below distinguishes
  // them.
  for (; at < end && becomes(text.text[at]) != 0; ++at) text.text[at] = becomes(text.text[at]);
  if (at == size) return;

  AlignedWriter writer(text);
  writer.copy(0, static_cast<index_t>(at));
  while (at < size) {
    for (; at < end; ++at) {
      const char c = becomes(text.text[at]);
      const auto i = static_cast<index_t>(at);
      if (c != 0 || !options_.clean_text)
        writer.put(std::string_view(&c, 1), text.origin(i, i + 1));
    }
    while (end < size && static_cast<unsigned char>(text.text[end]) >= 0x80) ++end;
    const auto run = static_cast<index_t>(at);
    put(normalized(characters_of(text, run, static_cast<index_t>(end))), writer);
    at = end;
    end = find_beyond_ascii(text.text, at);
  }
  writer.replace(text);
}

/// The normalisation of characters beyond ASCII. It does not change normalised ASCII between them.
Characters BertNormalizer::normalized(const Characters& characters) const {
  Characters result;
  result.reserve(characters.size());
  for (const auto& [code, origin] : characters) {
    if (options_.clean_text && (code == 0xfffd || is_control(code))) continue;
    const bool apart = options_.handle_chinese_chars && is_ideograph(code);
    if (apart) result.push_back({' ', origin});
    result.push_back({options_.clean_text && is_space(code) ? U' ' : code, origin});
    if (apart) result.push_back({' ', origin});
  }
  if (options_.strip_accents) {
    result = in_form(result, {});
    std::erase_if(result, [](const Character& c) { return is_nonspacing_mark(c.code); });
  }
  if (!options_.lowercase) return result;
  Characters lower;
  lower.reserve(result.size());
  for (const auto& [code, origin] : result) {
    for (const char32_t part : lower_case(code)) lower.push_back({part, origin});
  }
  return lower;
}

}  // namespace tessera::text

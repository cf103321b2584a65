// The tokens of lines by a model's tokenizer: numbers, tokens, and the bytes of each.
//
//   tokenize --model DIR lines.txt
//
// DIR is a model's folder, a tokenizer.json, or a file of Tokenizer::save.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tessera/models/text/tokenizers.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;

constexpr std::size_t kLinesAtOnce = 4096;

struct Options {
  std::string model, file;
  bool pair = false;
  bool no_special = false;
  bool plain_text = false;
  bool json = false;
  index_t max_length = 0;
};

void print_table(const text::Tokenizer& tokenizer, const text::Encoding& encoding) {
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::string token = escaped(tokenizer.token(encoding.ids[i]));
    std::cout << std::setw(8) << encoding.ids[i] << "  ";
    if (encoding.sequence_ids[i] == text::kNoText) {
      std::cout << token << '\n';
    } else {
      const text::Span bytes = encoding.offsets[i];
      std::cout << std::left << std::setw(20) << token << std::right << "  " << bytes.begin << '-'
                << bytes.end << '\n';
    }
  }
  std::cout << '\n';
}

std::string json_of(const text::Tokenizer& tokenizer, const text::Encoding& encoding) {
  const auto token = [&](index_t id) { return tokenizer.token(id); };
  const auto offset = [](const text::Span& bytes) {
    return JsonList().add(bytes.begin).add(bytes.end);
  };
  const auto place = [](index_t number) {
    return number == text::kNoText ? std::nullopt : std::optional(number);
  };
  return JsonObject({{"ids", json_list(encoding.ids)},
                     {"tokens", json_list(encoding.ids, token)},
                     {"offsets", json_list(encoding.offsets, offset)},
                     {"types", json_list(encoding.type_ids)},
                     {"texts", json_list(encoding.sequence_ids, place)}})
      .text();
}

/// Encodes some lines at a time, on all threads, and prints them.
template <class Text>
void encode(const text::Tokenizer& tokenizer, const std::vector<Text>& all, const Options& o,
            examples::CutTexts& cut) {
  const std::span<const Text> texts = all;
  const text::EncodeOptions options = {.add_special_tokens = !o.no_special,
                                       .max_length = o.max_length,
                                       .truncation_side = tokenizer.settings().truncation_side,
                                       .split_special_tokens = o.plain_text};
  examples::Progress progress("lines");
  for (std::size_t begin = 0; begin < texts.size(); begin += kLinesAtOnce) {
    const std::size_t count = std::min(kLinesAtOnce, texts.size() - begin);
    const auto encodings = tokenizer.encode_batch(texts.subspan(begin, count), options);
    text::report_cut(encodings, o.max_length, [&](index_t n, index_t most) { cut.add(n, most); });
    for (const text::Encoding& encoding : encodings) {
      if (o.json) {
        std::cout << json_of(tokenizer, encoding) << '\n';
      } else {
        print_table(tokenizer, encoding);
      }
    }
    progress.show(static_cast<index_t>(begin + count), std::ssize(texts));
  }
}

void tokenize(const Options& o, examples::CutTexts& cut) {
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(o.model);
  const std::vector<std::string> lines = examples::input_lines(o.file);
  if (o.pair) return encode(*tokenizer, examples::text_pairs(lines, o.file), o, cut);
  encode(*tokenizer, lines, o, cut);
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "tokenize", "Prints the tokens of each line: number, token, and its bytes in the line.");
  Options o;
  command.add_input("FILE", o.file, "lines of text; standard input if absent");
  command.add_input("--model", o.model, "folder of the model, or its tokenizer.json",
                    examples::kRequired);
  command.add("--pair", o.pair, "input lines of text<TAB>text");
  command.add("--max-length", o.max_length,
              "maximum number of tokens per line, with the special ones; no limit if absent",
              {1, examples::kMany});
  command.add("--no-special", o.no_special, "no special tokens around a text");
  command.add("--plain-text", o.plain_text,
              "special tokens in a line, such as [SEP], read as plain text");
  command.add("--json", o.json, "JSON output, one object per line");
  examples::CutTexts cut;
  cut.report_by(command);
  return command.run(argc, argv, [&] { tokenize(o, cut); });
}

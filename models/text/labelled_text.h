// Reads texts with labels from files, and converts labels to indices.
//
//   DESC<tab>How did serfdom develop ?         read_labelled_lines: one label per text
//   yes<tab>A man sleeps.<tab>Someone rests.   read_labelled_pairs: one label per pair of texts
//   Ada<tab>B-PER                              read_tagged_tokens: one tag per token, an empty line
//   wrote<tab>O                                after a sentence
//
// **Errors** throughout, if no other type is named: std::runtime_error that names the file and the
// line, counted from 1. The functions that read a file have the errors of read_text too.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/models/text/batches.h"
#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// One example of a file: a label and a text, or a pair of texts.
struct LabelledText {
  std::string label;
  std::string text;
  std::string second = {};  // the second text of a pair
};

/// One example per line: a label, a tab, the text. Further tabs belong to the text. Entry i is from
/// line i + 1. **Errors**: a line without a tab, label or text.
std::vector<LabelledText> read_labelled_lines(const std::filesystem::path& path);

/// One example per line: a label, a tab, a text, a tab, a text. Entry i is from line i + 1.
/// **Errors**: a line that does not have 2 tabs; a line without the label or a text.
std::vector<LabelledText> read_labelled_pairs(const std::filesystem::path& path);

/// A sentence, divided into tokens by its file, and the tag of each token.
struct TaggedText {
  std::string text;               // the tokens with a space between them
  std::vector<Span> words;        // the bytes of each token in `text`
  std::vector<std::string> tags;  // of each token
  index_t line;                   // of the first token; the others follow in the next lines
};

/// One token per line: the token, a tab, its tag. Empty lines separate sentences.
/// **Errors**: a line that does not have 1 tab; a line without the token or the tag; a file without
/// tokens.
std::vector<TaggedText> read_tagged_tokens(const std::filesystem::path& path);

/// The different labels of `examples`, sorted by their bytes: the position of a label is its index.
std::vector<std::string> distinct_labels(const std::vector<LabelledText>& examples);
std::vector<std::string> distinct_labels(const std::vector<TaggedText>& examples);

/// The index of each example's label, or of each of its tags, in `labels`. `file` is the name of
/// the examples' file in errors. **Errors**: a label that is not in `labels`;
/// std::invalid_argument: `labels` that are not all different.
std::vector<index_t> label_numbers(const std::vector<LabelledText>& examples,
                                   const std::vector<std::string>& labels, const std::string& file);
std::vector<std::vector<index_t>> label_numbers(const std::vector<TaggedText>& examples,
                                                const std::vector<std::string>& labels,
                                                const std::string& file);

/// Each example's label read as a number, which is a value to predict. **Errors**: a label that is
/// not a finite number.
std::vector<double> label_values(const std::vector<LabelledText>& examples,
                                 const std::string& file);

/// The conversion of texts to examples.
struct Tokenization {
  const Tokenizer* tokenizer;
  EncodeOptions options = {};
  bool feeds_type_ids = false;  // whether tokens of pairs get token types
  CutReport report_cut = {};    // called if texts are truncated

  /// Tokenizer::encode_batch, with a report about truncated texts. **Errors**: no tokenizer; as
  /// Tokenizer::encode_batch.
  std::vector<Encoding> encode_batch(ListOf<std::string> texts) const;
  std::vector<Encoding> encode_batch(ListOf<TextPair> pairs) const;
};

/// Encoded lines as examples without labels. **Errors**: a line without a token.
std::vector<Example> encoded_examples(const std::vector<Encoding>& lines, const std::string& file,
                                      bool feeds_type_ids = false);
/// The texts of lines as examples without labels; pairs of texts, if the first line has a pair.
/// **Errors**: as above; std::invalid_argument: no tokenizer; as Tokenizer::encode_batch.
std::vector<Example> encoded_examples(const std::vector<LabelledText>& lines,
                                      const Tokenization& encode, const std::string& file);
/// As encoded_examples, with the index of each line's label. **Errors**: as encoded_examples and
/// label_numbers.
std::vector<Example> labelled_examples(const std::vector<LabelledText>& lines,
                                       const std::vector<std::string>& labels,
                                       const Tokenization& encode, const std::string& file);

/// Converts the labels of words to labels of tokens: the first token of a word gets the word's
/// label, all other tokens get kIgnoreIndex. `words` are spans of the encoding's first text, in
/// text order.
/// **Errors**: std::invalid_argument: not as many labels as words.
/// **Source**: Devlin et al., "BERT", 2018, section 5.3.
std::vector<index_t> token_labels(const Encoding& encoding, std::span<const Span> words,
                                  std::span<const index_t> labels);

}  // namespace tessera::text

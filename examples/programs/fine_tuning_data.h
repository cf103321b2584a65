// The files that a pretrained model is trained on, as examples for its trainer.
//
//   DESC<tab>How did serfdom develop ?         a class, or a number to predict
//   yes<tab>A man sleeps.<tab>Someone rests.   the same for a pair of texts
//   Ada<tab>B-PER                              a label per word, an empty line between sentences
//   Who built Rome ?<tab>Romulus, they say.    two texts that belong together
//
// **Errors** throughout: std::runtime_error with the file's name and the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tessera/models/text/batches.h>
#include <tessera/models/text/labelled_text.h>
#include <tessera/models/text/tokenizer.h>

namespace tessera::examples {

/// The examples of a file, in the form for a model.
struct TextData {
  std::vector<text::Example> examples = {};
  std::vector<text::Example> partners = {};  // the second texts of pairs without labels

  bool empty() const { return examples.empty(); }
  std::vector<index_t> lengths() const;
  std::uint64_t digest() const;
  /// Throws if there is no target, because the loss would be 0 / 0. `file` is named in the error.
  void require_targets(const std::string& file) const;
};

/// The probable task of a file: "tokens" if there are empty lines between its lines, "regression"
/// if its lines begin with numbers that have fractions, else "classification".
/// **Errors**: also lines whose first fields are texts instead of a few labels; lines with two tabs
/// each, unless `pair` is set.
std::string guessed_task(const std::string& file, bool pair);

/// Sentences whose words have labels: a word's first token has the label, its other tokens have
/// none.
TextData tagged_texts(const std::string& file, const std::vector<std::string>& labels,
                      const text::Tokenization& encode);

/// Pairs of texts that belong together, cleaned as a sentence encoder cleans its texts.
TextData paired_texts(const std::string& file, const text::Tokenization& encode, bool lower_case);

}  // namespace tessera::examples

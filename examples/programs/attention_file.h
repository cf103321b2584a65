// --attention FILE of every program that runs an encoder: its attention weights, as a page (.html)
// or as a picture (.svg).
//
//   examples::AttentionFileOptions attention;
//   examples::add_attention_options(command, attention);
//   ...
//   const examples::AttentionFile file(attention, encoder, "my model");    // checks the options
//   ...
//   file.write(examples::attention_texts(std::ssize(lines), *tokenizer, token_encoder,
//                                        [&](index_t i) { ... }));
//
// Without the option this does nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "examples/programs/command.h"
#include "models/pages/attention_page.h"
#include "models/text/tokenizer.h"
#include "models/token_encoder.h"
#include "tensor/ops/attention.h"

namespace tessera::examples {

struct AttentionFileOptions {
  std::string file;    // .html or .svg; empty: no file
  std::string layers;  // as in "0,2-5"; empty: all
  std::string heads;   // the same
  bool ablation = false;
};

inline void add_attention_options(Command& command, AttentionFileOptions& options) {
  command.add_output("--attention", options.file,
                     "output file for attention weights: a page, .html, or one map, .svg");
  command.add("--attention-layers", options.layers,
              "layers in --attention, such as 0,2-5; all if absent");
  command.add("--attention-heads", options.heads,
              "heads in --attention, such as 0,2-5; all if absent");
  command.add("--attention-ablation", options.ablation,
              "change of the result without each head, on the page of --attention; takes a forward "
              "pass per chosen head and text");
}

/// The numbers in "0,2-5", each once, in their order. **Errors**: std::invalid_argument that begins
/// with `flag`: an invalid text; a number that is not below `count`.
std::vector<index_t> chosen_numbers(const char* flag, const std::string& text, index_t count);

/// The attention of one text, of each layer that is requested.
struct LayerAttention {
  std::vector<Tensor> weights;  // (1, H, T, T)
  std::vector<Tensor> norms;    // (1, H, T): inspect::value_norms
};

/// A model's result for text i, and the name of the result on the page. --attention-ablation
/// computes 1 - the cosine of this tensor with and without a head or, for logits, the decrease of
/// the largest one.
struct AblatedResult {
  std::function<Tensor(index_t text)> of;
  std::string name = "the output vectors";
  bool is_logits = false;
};

/// The texts of a file, by number.
struct AttentionTexts {
  index_t count;
  std::function<std::vector<std::string>(index_t text)> tokens;
  std::function<LayerAttention(index_t text, const AttentionRequest& request)> attention;
  AblatedResult result;
};

/// Texts that `encoder` reads; `read` makes a batch of one text, (1, T), and is called only for
/// texts that are shown. Weights have the same bits as those that the encoder computes with. The
/// result is the encoder's output.
AttentionTexts attention_texts(index_t count, const text::Tokenizer& tokenizer,
                               const models::TokenEncoder& encoder,
                               std::function<models::Tokens(index_t text)> read);

/// The file of --attention, for one encoder. A page has the first texts, at most kMostTexts and
/// those that fit; a picture has the first text, the last of the layers and the mean of the heads.
class AttentionFile {
 public:
  static constexpr index_t kMostTexts = 8;

  /// No file.
  AttentionFile() = default;
  /// `about` is a line on the page about the model. **Errors**: std::invalid_argument: a name that
  /// does not end in .html or .svg; layers or heads that `encoder` does not have; options without a
  /// file; ablation without a page.
  AttentionFile(const AttentionFileOptions& options, const models::Encoder& encoder,
                std::string about);

  explicit operator bool() const { return !file_.empty(); }
  const std::string& name() const { return file_; }

  /// Writes the file, completely or not at all. **Errors**: no text; one that is too long for a
  /// page; as write_file().
  void write(const AttentionTexts& texts) const;

 private:
  void check_size(index_t tokens) const;
  pages::AttentionView view_of(const AttentionTexts& texts) const;
  Tensor ablation_of(const AblatedResult& result, index_t text) const;

  std::string file_;
  std::string about_;
  AttentionRequest request_;
  index_t maps_ = 0;  // per text
  bool ablation_ = false;
};

/// The attention of one text; `run` calls the encoder.
LayerAttention attention_of(const models::Encoder& encoder, const AttentionRequest& request,
                            const std::function<models::EncoderResult()>& run);
LayerAttention attention_of(const models::TokenEncoder& encoder, const models::Tokens& text,
                            const AttentionRequest& request);

}  // namespace tessera::examples

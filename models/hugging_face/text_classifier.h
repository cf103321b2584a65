// Classifies texts and pairs of texts, by a pretrained model.
//
//   const models::TextClassifier model = models::load_text_classifier("sst2");
//   const auto results = model({"I love it.", "What a mess."});
//   results[0][0].label;       // "POSITIVE", the most likely class first
//   results[0][0].score;
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/models/classifier.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/tensor/random.h"

namespace tessera::models {

/// The function applied to the scores of a text.
/// **Source**: function_to_apply of transformers.TextClassificationPipeline.
enum class Scoring {
  kNone,     // the scores are the result: regression, and rerankers
  kSigmoid,  // each class separately: any number of them can apply
  kSoftmax,  // exactly one class applies
};

/// The score of one class.
struct ClassScore {
  std::string label;
  double score;
};

/// The index of a text among the given texts, and its score.
struct RankedText {
  index_t text;
  double score;
};

/// A sequence classifier with its tokenizer and the names of its classes. A cross-encoder is a
/// classifier that reads a query and a text as a pair. The score of the pair says how well the text
/// answers the query.
/// **Source**: transformers.TextClassificationPipeline; sentence_transformers.CrossEncoder, for
/// pairs of a query and a text.
struct TextClassifier {
  TextReader reader;
  SequenceClassifier model;
  std::vector<std::string> labels;
  Scoring scoring;                // of the output: softmax, sigmoid or none
  bool is_cross_encoder = false;  // save_folder() writes `scoring` as sentence-transformers does

  /// All classes of each text, in the order of the model's outputs, the largest first; of equal
  /// outputs, the class with the lower index first. (Different outputs can have equal scores.)
  /// A text's scores are batch invariant: they do not depend on the other texts.
  /// **Errors**: as TextReader::encode_options, Tokenizer::encode and logits; not as many labels as
  /// the model has classes.
  std::vector<std::vector<ClassScore>> operator()(text::ListOf<std::string> texts,
                                                  const TaskOptions& options = {}) const;
  /// All classes of each pair of texts, such as a premise and a hypothesis. **Errors**: as scores.
  std::vector<std::vector<ClassScore>> operator()(text::ListOf<text::TextPair> pairs,
                                                  const TaskOptions& options = {}) const;

  /// The model's outputs, before `scoring` is applied. **Shapes**: n encodings -> (n, C) for C
  /// classes. **Errors**: as TextReader::each_row.
  Tensor logits(std::span<const text::Encoding> encodings, const TaskOptions& options = {}) const;

  /// A score for each label of each pair. **Shapes**: n pairs -> (n, C).
  /// **Errors**: as TextReader::encode_options, Tokenizer::encode_pair and logits; not as many
  /// labels as the model has classes.
  Tensor scores(text::ListOf<text::TextPair> pairs, const TaskOptions& options = {}) const;
  /// A score for each text with the query. **Shapes**: n texts -> (n). **Errors**: as above; a
  /// model with several labels.
  Tensor scores(const std::string& query, text::ListOf<std::string> texts,
                const TaskOptions& options = {}) const;
  /// The texts, ordered by the model's outputs for them with the query, the best first; texts with
  /// equal outputs keep their order. **Errors**: as above.
  std::vector<RankedText> rank(const std::string& query, text::ListOf<std::string> texts,
                               const TaskOptions& options = {}) const;
};

/// The text classifier in a folder. **Errors**: std::runtime_error that names the file, the key,
/// the rule and the value: a file that is missing or broken; an unsupported family; a tensor with a
/// wrong shape; labels that contradict the tensors; an unknown problem_type. Labels that contradict
/// each other are in TextReader::warnings.
/// **Source**: transformers.AutoModelForSequenceClassification.from_pretrained.
TextClassifier load_text_classifier(const std::filesystem::path& folder);

/// The folder's encoder with a new classifier for these labels, in training mode. The dense layer
/// before the classifier, such as BERT's pooler, is the folder's if the folder has this layer.
/// `scoring` selects what the classifier learns: one of several classes (kSoftmax), any number of
/// classes (kSigmoid), or numbers (kNone). New weights are drawn as in transformers.
/// **Errors**: as load_text_classifier; std::invalid_argument: no labels, equal labels, or labels
/// that are not UTF-8. **Source**: as load_text_classifier.
TextClassifier make_text_classifier(const std::filesystem::path& folder,
                                    std::vector<std::string> labels,
                                    Scoring scoring = Scoring::kSoftmax, Rng& rng = default_rng());

/// The cross-encoder in a folder. **Errors**: as load_text_classifier.
/// **Source**: sentence_transformers.CrossEncoder.
TextClassifier load_cross_encoder(const std::filesystem::path& folder);

}  // namespace tessera::models

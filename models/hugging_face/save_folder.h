// From a model to a folder that transformers and sentence-transformers open, and the loaders here.
//
//   models::TextClassifier task = models::make_text_classifier("all-MiniLM-L6-v2", {"no", "yes"});
//   ...                                                       // train task.model
//   models::save_folder("answers", "all-MiniLM-L6-v2", task);
//
// Saved are config.json, the weights in float32 under the family's names, and the tokenizer's
// files. What is not the model's, as the keys of config.json that only others read, comes from the
// folder `from` that the model was opened from.
#pragma once

#include <filesystem>

#include "models/hugging_face/mask_filler.h"
#include "models/hugging_face/question_answerer.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/hugging_face/token_tagger.h"

namespace tessera::models {

/// The options of save_folder().
struct SaveOptions {
  bool overwrite = false;  // a folder that is there, if nothing in it but the new one's files
  bool rehearse = false;   // write all next to `to` and remove it again, to find errors early
};

/// Writes the model as the folder `to`: next to it first, under a different name, which becomes `to`
/// when all is on disk. The same model gives the same bytes. `to` may be `from`.
///
/// The folder has transformers' model of the task: ...ForSequenceClassification,
/// ...ForTokenClassification, ...ForQuestionAnswering, ...ForMaskedLM, with labels and problem_type;
/// or only the encoder, ...Model, with the pooler that `from` has. A SentenceEncoder becomes a
/// folder of sentence-transformers, with its modules and what its settings say.
///
/// **Errors**: std::runtime_error that names the file or folder: a `to` that is a file, or is not
/// empty and not to be overwritten, or would lose a file; what cannot be read or written.
/// std::invalid_argument: a model that was not made from `from`; labels that do not fit the
/// classifier; an activation that sentence-transformers has not.
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const TextClassifier& task, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const TokenTagger& task, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const QuestionAnswerer& task, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const MaskFiller& task, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const SentenceEncoder& model, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const TokenEncoder& encoder, const SaveOptions& options = {});

}  // namespace tessera::models

// Saves a model as a folder that Hugging Face's transformers, sentence-transformers and the loaders
// of this library can read.
//
//   models::TextClassifier task = models::make_text_classifier("all-MiniLM-L6-v2", {"no", "yes"});
//   ...                                                       // train task.model
//   models::save_folder("answers", "all-MiniLM-L6-v2", task);
//
// Saves config.json, the weights in float32 under the family's names, and the tokenizer's files.
// `from` is the folder that the model was made from. The tokenizer's files, the code that
// config.json names, and keys of config.json that only other programs read are copied from there.
#pragma once

#include <filesystem>

#include "tessera/models/hugging_face/mask_filler.h"
#include "tessera/models/hugging_face/multi_vector_encoder.h"
#include "tessera/models/hugging_face/question_answerer.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/sparse_encoder.h"
#include "tessera/models/hugging_face/text_classifier.h"
#include "tessera/models/hugging_face/token_tagger.h"

namespace tessera::models {

/// The options of save_folder().
struct SaveOptions {
  bool overwrite = false;  // replace `to`, if `to` contains only files that the new folder has
  bool dry_run = false;    // write a new folder next to `to`, and remove it, to find errors early
};

/// Writes the model as the folder `to`: first as a folder next to `to`, which is renamed to `to`
/// when all is on disk. The same model gives the same bytes. `to` may be `from`.
///
/// config.json names the class of transformers for the task: ...ForSequenceClassification and
/// ...ForTokenClassification with the labels, ...ForQuestionAnswering, ...ForMaskedLM, or ...Model
/// for only the encoder, with the pooler if `from` has one. A SentenceEncoder or a SparseEncoder
/// becomes a folder of sentence-transformers, and a MultiVectorEncoder one of PyLate, with its
/// modules and settings. A model of bge-m3 becomes a folder of bge-m3, with the other layer of `from`.
///
/// **Errors**: std::runtime_error that names the file or folder: a `to` that is a file or a mount
/// point, is not empty without `overwrite`, or would lose a file; a file or folder that cannot be
/// read or written.
/// std::invalid_argument: a model that was not made from `from`, or is prepacked; labels that do
/// not match the classifier; labels or prompts that are not UTF-8; a Dense or LayerNorm that
/// sentence-transformers cannot have.
/// **Source**: save_pretrained of transformers.PreTrainedModel and of
/// sentence_transformers.SentenceTransformer.
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
                 const MultiVectorEncoder& model, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const SparseEncoder& model, const SaveOptions& options = {});
void save_folder(const std::filesystem::path& to, const std::filesystem::path& from,
                 const TokenEncoder& encoder, const SaveOptions& options = {});

}  // namespace tessera::models

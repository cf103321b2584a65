// Models of folders for inference only, which hold each weight once.
//
//   models::SentenceEncoder model = models::load_sentence_encoder("all-MiniLM-L6-v2");
//   models::freeze(model);                        // or models::freeze(model, WeightFormat::kBFloat16)
#pragma once

#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/task.h"
#include "nn/freeze.h"

namespace tessera::models {

/// nn::freeze of all that texts are computed with: weights are packed one by one, and the file's are
/// given up; tables of embeddings stay mapped. With kExact no bit of any result changes.
void freeze(SentenceEncoder& encoder, WeightFormat format = WeightFormat::kExact);

/// The result of the loaders of tasks: a reader of texts and a model.
template <class Task>
concept TaskModel = requires(Task& task) {
  task.reader;
  task.model;
};

/// The same for a TextClassifier, a TokenTagger, a QuestionAnswerer or a MaskFiller.
template <TaskModel Task>
void freeze(Task& task, WeightFormat format = WeightFormat::kExact) {
  nn::freeze(task.model, format);
}

}  // namespace tessera::models

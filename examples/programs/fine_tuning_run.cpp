#include "examples/programs/fine_tuning_run.h"

#include <cmath>
#include <filesystem>

#include "examples/programs/confusion.h"
#include "examples/programs/same_files.h"
#include "tensor/error.h"

namespace tessera::examples {

Files read_files(const Program& program, const FineTuneOptions& o,
                 const std::function<TextData(const std::string& file)>& read) {
  Files files;
  files.train = read(o.train);
  if (!program.options.valid.empty()) files.valid = read(program.options.valid);
  if (!o.test.empty()) {
    require_same_files(o.test);
    files.test = read(o.test);
  }
  if (program.options.valid_share > 0) {
    files.valid.examples = hold_out(program, files.train.examples);
    if (!files.train.partners.empty()) {  // the same ones
      files.valid.partners = hold_out(program, files.train.partners);
    }
  }
  return files;
}

nn::Examples examples_of(const TextData& data, const LossOf& loss) {
  return {data.lengths(), [&](Chosen chosen) { return loss(data, chosen); }};
}

std::string said(const Task& task, const nn::LossTotals& totals) {
  if (task.is_regression) return "error " + fixed(std::sqrt(totals.mean()), 4);
  return "loss " + fixed(totals.mean(), 4) + "  accuracy " + fixed(totals.accuracy(), 4);
}

std::string summary_of(const Task& task, const nn::EpochReport& report) {
  std::string summary = said(task, report.totals);
  if (!report.evaluation) return summary;
  summary += "  held out: " + said(task, report.evaluation->totals);
  return report.evaluation->is_best ? summary + ", the best" : summary;
}

models::FineTuningOptions tuning_of(const Program& program, const FineTuneOptions& o,
                                    index_t layers) {
  require(o.freeze_layers <= layers, kFineTune, "--freeze-layers must be at most ", layers,
          ", the layers of the model, got ", o.freeze_layers);
  return {.lr = program.options.learning_rate,
          .head_lr = o.head_lr,
          .layer_decay = o.layer_decay,
          .weight_decay = program.options.weight_decay,
          .freeze_embeddings = o.freeze == "embeddings",
          .freeze_layers = o.freeze == "encoder" ? layers : o.freeze_layers};
}

std::unique_ptr<RunLock> lock_of_target(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::path place = fs::weakly_canonical(fs::absolute(folder));
  if (!place.has_filename()) place = place.parent_path();
  const std::string name = str_cat('.', place.filename().string(), ".lock");
  return std::make_unique<RunLock>(place.parent_path() / name, folder);
}

void report(Training& training, const Task& task, const Files& files) {
  for (const auto& [data, title] : {std::pair(&files.valid, "Held-out examples"),
                                    std::pair(&files.test, "Examples of --test")}) {
    if (data->examples.empty()) continue;
    const Confusion counts =
        confusion_of(data->examples, std::ssize(task.labels), task.pad, task.scores);
    training.report(counts.for_page(title, task.labels));
  }
}

}  // namespace tessera::examples

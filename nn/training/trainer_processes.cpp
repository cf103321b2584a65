// The part of nn::Trainer for several processes that share the shards of each step.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tessera/nn/training/communicator.h"
#include "tessera/nn/training/detail/digest.h"
#include "tessera/nn/training/trainer.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/version.h"

namespace tessera::nn {

/// Whether stop() was called, in any process.
bool Trainer::stops() const {
  if (options_.communicator == nullptr) return stop_;
  const std::vector<std::string> all = options_.communicator->all_gather(stop_ ? "1" : "");
  return std::ranges::any_of(all, [](const std::string& text) { return !text.empty(); });
}

/// Throws unless all processes start with the same options, version of the code, examples,
/// arithmetic and state.
void Trainer::require_same_run() const {
  const auto check = [&](const Checkpoint& facts) {
    for (const auto& [name, text] : facts.values) {
      require_same(*options_.communicator, "Trainer", name, text);
    }
  };
  const TrainerOptions& o = options_;
  Checkpoint facts = settings();
  facts.set("version", str_cat(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch));
  facts.set("optimiser", optimizer_->name());
  facts.set("steps", total_steps_);
  facts.set("decay", static_cast<int>(o.lr_decay));
  facts.set("warmup", o.warmup_ratio);
  facts.set("clip", o.max_grad_norm);
  facts.set("average", o.ema_decay);
  facts.set("evaluate_every", o.evaluate_every);
  facts.set("patience", o.patience);
  facts.set("best_by", static_cast<int>(o.best_by));
  facts.set("keep_best", o.keep_best);
  facts.set("digest of the examples", digest());
  check(facts);

  Checkpoint start = state();
  start.tensors["lengths"] = from_vector(train_.lengths);
  start.tensors["held-out lengths"] = from_vector(held_out_.lengths);
  // x^2 - (1 + 2^-11) is 2^-24 as a float only if the square is not rounded before the sum.
  const float x = 1 + 0x1p-12F;
  start.tensors["arithmetic"] = matmul(from_vector<float>({-1, x}).unsqueeze(0),
                                       from_vector<float>({1 + 0x1p-11F, x}).unsqueeze(1));
  for (const auto& [name, tensor] : start.tensors) {
    start.set(name, str_cat("digest ", digest_of(tensor.detach())));
  }
  std::string rates;  // functions cannot be compared, only their first and last rates
  for (std::size_t i = 0; i < optimizer_->groups().size(); ++i) {
    for (const index_t at : {step(), total_steps_}) rates += shortest(scheduler_.rate(i, at)) + ' ';
  }
  start.set("rates now and at the end", rates);
  std::string names;  // checked first, because all processes must compare equally many facts
  for (const auto& [name, text] : start.values) names += name + '\n';
  Digest of_names;
  of_names.add(std::as_bytes(std::span(names)));
  require_same(*o.communicator, "Trainer", "names of parameters and states",
               str_cat(start.values.size(), " names, digest ", of_names.value()));
  check(start);
}

}  // namespace tessera::nn

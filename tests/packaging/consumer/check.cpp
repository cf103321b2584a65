// Checks across library boundaries: types, exceptions, the thread's active tape, threads.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "nn/nn.h"

#include <tessera/models/models.h>
#include <tessera/models/text/text.h>
#include <tessera/nn/nn.h>
#include <tessera/tensor/autograd/tape.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/kernels/dispatch.h>
#include <tessera/tensor/kernels/parallel.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/version.h>

namespace {

bool throws() {
  try {
    tessera::matmul(tessera::ones({2, 3}), tessera::ones({2, 3}));
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

int check() {
  using namespace tessera;
  static_assert(kVersionMajor > 0 || kVersionMinor >= 1);
  set_isa(current_isa());
  set_thread_count(kThreads);

  models::Encoder encoder(
      {.layers = models::repeat_layer({.d_model = 8, .nhead = 2, .dim_feedforward = 16}, 1)});
  nn::set_requires_grad(encoder, true);
  const Tensor x = ones({1, 3, 8});
  Tape tape;
  const Tensor loss = sum(encoder(x));
  const index_t recorded = tape.size();
  {
    const NoGrad no_grad;  // writes the library's variable from this program
    encoder(x);
  }
  const bool one_tape = recorded > 0 && tape.size() == recorded;
  tape.backward(loss);
  const bool has_gradients = encoder.layers[0].norm2.weight.grad().defined();
  // Accents are only removed if utf8proc was found, or is included.
  const std::vector<std::string> words = {"\u00c9t\u00e9"};
  const bool has_unicode =
      text::train_word_piece(words, {.vocab_size = 0})->to_text().find("\"ete\"") !=
      std::string::npos;
  if (throws() && one_tape && has_gradients && has_unicode) return 0;
  std::puts("Tessera does not work across the borders of libraries");
  return 1;
}

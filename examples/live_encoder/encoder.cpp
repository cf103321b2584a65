// A sentence encoder for a web page, called by worker.js.
//
//   const encoder = new module.LiveEncoder();
//   const {layers, heads} = encoder.open('/model');
//   encoder.turn(4, 10, false);                           // layer 4 without head 10
//   const {tokens, vector, weights} = encoder.look('Hello');
#include <emscripten/bind.h>
#include <emscripten/heap.h>

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/hugging_face/sentence_encoder.h"
#include "models/inspect/inspect.h"
#include "models/token_encoder.h"
#include "nn/hook.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/rearrange.h"

namespace {

using emscripten::val;
using namespace tessera;

/// A copy of a tensor as a Float32Array.
val floats(const Tensor& x) {
  const Tensor values = x.to(kFloat32).contiguous();
  const auto count = static_cast<std::size_t>(values.count());
  return val(emscripten::typed_memory_view(count, values.data<float>())).call<val>("slice");
}

/// Returns the result of `work`. Its exceptions become JavaScript errors.
template <class Work>
val reported(const Work& work) {
  std::string error;
  try {
    return work();
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  val::global("Error").new_(error).throw_();
}

class LiveEncoder {
 public:
  /// Returns `layers`, `heads`, `width` and `max_length`.
  val open(const std::string& folder) {
    return reported([&] {
      models::SentenceEncoder model = models::load_sentence_encoder(folder);
      models::prepack(model);
      require(std::holds_alternative<models::TokenEncoder>(model.words), "live_encoder",
              "the model must have attention, got static embeddings");
      const text::Encoding text = model.encoding_of("a");
      counts_ = inspect::count_heads("live_encoder", [&] { model(model.reader.tokens(text)); });
      val about = val::object();
      about.set("layers", static_cast<int>(counts_.layers));
      about.set("heads", static_cast<int>(counts_.heads));
      about.set("width", static_cast<int>(model.width));
      about.set("max_length", static_cast<int>(model.reader.max_length));
      model_ = std::make_unique<models::SentenceEncoder>(std::move(model));
      return about;
    });
  }

  /// Switches a head of a layer on or off, for all later calls.
  void turn(int layer, int head, bool is_on) {
    if (is_on) {
      off_.erase({layer, head});
    } else {
      off_.insert({layer, head});
    }
  }

  /// The embedding of a text, as encode() computes it. **Shapes**: (width).
  val vector(const std::string& text) {
    return reported([&] {
      const Hooks hooks = switched_off();
      return floats(model_->encode({text}));
    });
  }

  /// Returns `tokens`, `vector` and `weights`: the attention of all layers and heads.
  /// **Shapes**: weights (layers, heads, T, T).
  val look(const std::string& text) {
    return reported([&] {
      const text::Encoding encoding = model_->encoding_of(text);
      const Hooks hooks = switched_off();
      Tensor vector;
      const auto steps =
          inspect::record([&] { vector = model_->encode({text}); }, "layers.*.self_attn.weights");
      std::vector<Tensor> weights;
      for (const auto& step : steps) weights.push_back(step.second.select(0, 0));
      val seen = val::object();
      seen.set("tokens", tokens_of(encoding));
      seen.set("vector", floats(vector));
      seen.set("weights", floats(stack(weights)));
      return seen;
    });
  }

  /// The similarity of `text` to a vector after one token's row of one layer is replaced by that of
  /// `other`, which must have the same number of tokens. Calls `progress` with the fraction that is
  /// done.
  /// **Shapes**: (layers, T).
  val patch(const std::string& text, const std::string& other, const val& target,
            const val& progress) {
    return reported([&] {
      const Hooks hooks = switched_off();
      const std::vector<float> numbers = emscripten::convertJSArrayToNumberVector<float>(target);
      const Tensor vector = from_vector(numbers).unsqueeze(0);
      const text::Encoding encoding = model_->encoding_of(text);
      const auto runs = static_cast<double>(counts_.layers * std::ssize(encoding.ids) + 2);
      double done = 0;
      const auto score_of = [&](const text::Encoding& of) {
        return [&, tokens = model_->reader.tokens(of)] {
          progress(done++ / runs);
          const Tensor own = (*model_)(tokens, model_->prompt_tokens());
          return model_->similarity(own, vector).select(0, 0).select(0, 0);
        };
      };
      const auto from = score_of(model_->encoding_of(other));
      return floats(inspect::activation_patching(from, score_of(encoding)).scores);
    });
  }

 private:
  using Hooks = std::vector<std::unique_ptr<nn::Hook>>;

  Hooks switched_off() const {
    Hooks hooks;
    for (const auto& place : off_) {
      hooks.push_back(std::make_unique<nn::Hook>(
          str_cat("layers.", place.first, ".self_attn.heads"),
          [head = place.second, heads = counts_.heads](const nn::Step& step) {
            return step.without_head(head, heads);
          }));
    }
    return hooks;
  }

  val tokens_of(const text::Encoding& encoding) const {
    val tokens = val::array();
    for (const index_t id : encoding.ids) {
      tokens.call<void>("push", std::string(model_->reader.tokenizer->token(id)));
    }
    return tokens;
  }

  std::unique_ptr<models::SentenceEncoder> model_;
  inspect::HeadCounts counts_ = {};
  std::set<std::pair<index_t, index_t>> off_;  // (layer, head)
};

}  // namespace

EMSCRIPTEN_BINDINGS(tessera) {
  emscripten::class_<LiveEncoder>("LiveEncoder")
      .constructor()
      .function("open", &LiveEncoder::open)
      .function("turn", &LiveEncoder::turn)
      .function("vector", &LiveEncoder::vector)
      .function("look", &LiveEncoder::look)
      .function("patch", &LiveEncoder::patch);
  emscripten::function("memory", &emscripten_get_heap_size);
}

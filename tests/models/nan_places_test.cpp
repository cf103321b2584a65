// The positions of NaNs are part of the promise of equal bits: they do not depend on the number of
// threads, the layout or the instruction set. The sign and payload of NaNs are not promised: IEEE
// 754 leaves them to the machine, and processors take them from either operand.
#include "tessera/models/models.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr index_t kNanTokens = 67;
constexpr index_t kNanWidth = 36;

/// Random values; one in `every` is bad, at each position of a vector in turn.
Tensor spoiled(DType dtype, index_t every, const std::vector<double>& bad) {
  Tensor x = random_tensor({2, kNanTokens, kNanWidth}, dtype, 5);
  Tensor flat = x.flatten();
  for (index_t i = every / 2, n = 0; i < flat.count(); i += every + 1, ++n) {
    flat.select(0, i).fill(bad[static_cast<std::size_t>(n) % bad.size()]);
  }
  return x;
}

struct NanSubject {
  std::string name;
  std::function<Tensor(const Tensor& x)> run;
};

std::vector<NanSubject> elementwise_subjects(DType dtype) {
  const Tensor other = random_tensor({kNanWidth}, dtype, 6);
  return {
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"tanh", tanh},
      {"erf", erf},
      {"abs", abs},
      {"square", square},
      {"reciprocal", reciprocal},
      {"sigmoid", sigmoid},
      {"relu", relu},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu by tanh", [](const Tensor& x) { return gelu_tanh(x); }},
      {"minimum", [=](const Tensor& x) { return minimum(x, other); }},
      {"maximum", [=](const Tensor& x) { return maximum(other, x); }},
      {"div", [=](const Tensor& x) { return other / x; }},
      {"pow", [=](const Tensor& x) { return pow(x, 3); }},
      {"where", [=](const Tensor& x) { return where(lt(x, other), x, other); }},
  };
}

std::vector<NanSubject> row_subjects() {
  std::vector<NanSubject> subjects = {
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"softmax of columns", [](const Tensor& x) { return softmax(x, {1}); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 1); }},
      {"argmax", [](const Tensor& x) { return argmax(x, {-1}); }},
  };
  for (const Axes& axes : {Axes{-1}, Axes{1}, Axes{0, 2}, Axes{}}) {
    const std::string of = str_cat(" over ", axes);
    subjects.push_back({"sum" + of, [=](const Tensor& x) { return sum(x, axes); }});
    subjects.push_back({"mean" + of, [=](const Tensor& x) { return mean(x, axes); }});
    subjects.push_back({"max" + of, [=](const Tensor& x) { return max(x, axes); }});
    subjects.push_back({"min" + of, [=](const Tensor& x) { return min(x, axes); }});
    subjects.push_back({"var" + of, [=](const Tensor& x) { return var(x, axes); }});
    subjects.push_back({"norm" + of, [=](const Tensor& x) { return norm(x, axes); }});
  }
  return subjects;
}

/// The gradient of x for a loss made from `f`.
Tensor gradient_of(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  Tensor variable = x.detach();  // with x's layout
  variable.set_requires_grad();
  Tape tape;
  const Tensor y = f(variable);
  tape.backward(sum(y * random_tensor(y.shape(), y.dtype(), 8)));
  return variable.grad();
}

std::vector<NanSubject> products(DType dtype) {
  const Tensor wide = random_tensor({kNanWidth, 1101}, dtype, 9);
  const Tensor tall = random_tensor({1101, 20}, dtype, 10);  // a sum of more than one block
  const Tensor weight = random_tensor({52, kNanWidth}, dtype, 11);
  const Tensor bias = random_tensor({52}, dtype, 12);
  const auto attend = [](const AttentionMask& mask) {
    return [=](const Tensor& x) {
      const Tensor heads = nn::split_heads(x, 3);
      return nn::merge_heads(attention(heads, heads, heads, mask).output);
    };
  };
  const auto weights = [](const Tensor& x) {
    const Tensor heads = nn::split_heads(x, 3);
    return attention(heads, heads, heads, causal_mask(), {.need_weights = AttentionRequest{}})
        .weights;
  };
  std::vector<NanSubject> subjects = {
      {"matmul", [=](const Tensor& x) { return matmul(matmul(x, wide), tall); }},
      {"matmul from the right",
       [=](const Tensor& x) { return matmul(tall.slice(0, 0, 36).t(), x.transpose(1, 2)); }},
      {"linear", [=](const Tensor& x) { return linear(x, weight, bias, Activation::kGelu); }},
      {"einsum",
       [=](const Tensor& x) {
         return einsum("btd,btd->tb", {x, x});
       }},
      {"attention", attend({})},
      {"causal attention", attend(causal_mask())},
      {"attention of lengths", attend(length_mask({50, 67}))},
      {"window attention", attend(window_mask(40))},
      {"weights of attention", weights},
  };
  for (const NanSubject& forward : std::vector<NanSubject>(subjects)) {
    subjects.push_back({"gradient of " + forward.name,
                        [f = forward.run](const Tensor& x) { return gradient_of(f, x); }});
  }
  return subjects;
}

std::vector<NanSubject> all_subjects(DType dtype) {
  std::vector<NanSubject> subjects = elementwise_subjects(dtype);
  for (const NanSubject& subject : row_subjects()) subjects.push_back(subject);
  for (const NanSubject& subject : products(dtype)) subjects.push_back(subject);
  return subjects;
}

/// Calls `body(subject, x)` for inputs of several kinds.
template <class Body>
void for_each_case(const Body& body) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (index_t every : {40, 1500}) {
      const Tensor x = spoiled(dtype, every, {kNan, kInf, -kInf, -kNan});
      for (const NanSubject& subject : all_subjects(dtype)) {
        SCOPED_TRACE(str_cat(subject.name, ", ", dtype, ", one of ", every));
        body(subject, x);
      }
    }
  }
}

using NanPlacesTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, NanPlacesTest, each_isa(), isa_name);

TEST_P(NanPlacesTest, DoNotChangeWithThreadsOrLayouts) {
  for_each_case([](const NanSubject& subject, const Tensor& x) {
    set_thread_count(1);
    const Tensor want = subject.run(x);
    for (int threads : {2, 3, 8}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(subject.run(x), want));
    }
    for (const Layout& layout : layouts_of(x)) {
      EXPECT_TRUE(same_bits(subject.run(layout.tensor), want)) << layout.name;
    }
    set_thread_count(0);
  });
}

TEST(NanPlaces, DoNotChangeWithTheInstructionSet) {
  const std::string before = current_isa();
  for_each_case([](const NanSubject& subject, const Tensor& x) {
    set_isa("baseline");
    const Tensor want = isnan(subject.run(x));
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      EXPECT_TRUE(same_bits(isnan(subject.run(x)), want));
    }
  });
  set_isa(before);
}

}  // namespace
}  // namespace tessera::test

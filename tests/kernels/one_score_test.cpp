// tensor/kernels/one_score.md and examples/course/017_one_register.md follow one score of the first
// lesson to a register. Their printed values are computed here, and the functions named by the
// first page are at the given places.

#include <cmath>
#include <iomanip>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/kernels/tile.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

namespace tiles = kernels::TESSERA_ISA;  // the kernels' source, compiled again into this test

std::string text_of(const std::string& path) {
  std::string text = file_text(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

const std::string& page() {
  static const std::string text = text_of("tensor/kernels/one_score.md");
  return text;
}

/// Checks that the page contains this line.
void expect_line(const std::string& line, const std::string& text = page()) {
  EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << "not in the page: " << line;
}

template <class T>
std::string row(const T* values, index_t count, int digits = 0) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits);
  for (index_t i = 0; i < count; ++i) out << (i == 0 ? "" : " ") << values[i];
  return out.str();
}

/// The lesson's queries, keys and values.
struct Lesson {
  Tensor x = tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}}, kFloat64);
  Tensor q = matmul(x, tensor({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}}));
  Tensor k = matmul(x, tensor({{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}}));
  Tensor v = matmul(x, tensor({{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}}));
};

TEST(OneScore, OfTheLessonAndTheOp) {
  const Lesson x;
  expect_line("q[0] = " + row(x.q.data<double>(), 3));
  expect_line("k[2] = " + row(x.k.data<double>() + 6, 3));
  const Tensor scores = matmul(x.q, x.k.t());
  expect_line("scores[0][2] = 1*2 + 0*3 + 2*1 = " + row(scores.data<double>() + 2, 1));
  const auto strides = [](const Tensor& of) {
    return std::to_string(of.strides()[0]) + " " + std::to_string(of.strides()[1]);
  };
  expect_line("q: strides " + strides(x.q));
  expect_line("k.t(): strides " + strides(x.k.t()));
}

TEST(OneScore, OfTheRecord) {
  Lesson x;
  x.q.set_requires_grad(true);
  x.k.set_requires_grad(true);
  Tape tape;
  tape.backward(matmul(x.q, x.k.t()).select(0, 0).select(0, 2));
  const Tensor dq = x.q.grad().contiguous();
  const Tensor dk = x.k.grad().contiguous();
  expect_line("dq[0] = " + row(dq.data<double>(), 3));
  expect_line("dk[2] = " + row(dk.data<double>() + 6, 3));
}

TEST(OneScore, OfTheTile) {
  const Lesson x;
  constexpr index_t kPanel = tiles::kPanel<double>;
  double panel[3 * kPanel];
  tiles::pack_panel(kernels::MatrixRef<double>{x.k.data<double>(), 1, 3}, 3, 3, panel);
  std::string sums = "0";
  const std::string lesson = text_of("examples/course/017_one_register.md");
  for (index_t p = 0; p < 3; ++p) {
    expect_line("panel row " + std::to_string(p) + " = " + row(panel + p * kPanel, 3), lesson);
    double c[3 * kPanel] = {};
    tiles::compute_rows(3, false, p + 1, kernels::MatrixRef<double>{x.q.data<double>(), 3, 1},
                        tiles::Panels<double>{panel, 0, kPanel},
                        tiles::TileTarget<double>{c, kPanel, 3, false});
    sums += " -> " + row(c + 2, 1);
  }
  expect_line("sum[0], lane 2 = " + sums, lesson);
}

TEST(OneScore, OfTheFusedOp) {
  const Lesson x;
  Tensor result = zeros({3, 3}, kFloat64);
  double maxima[3], scales[3];
  kernels::AttentionArgs<double> args = {};
  args.batch = args.heads = 1;
  args.queries = args.keys = args.width = args.v_width = 3;
  args.q = {.data = x.q.data<double>(), .token = 3};
  args.k = {.data = x.k.data<double>(), .token = 3};
  args.v = {.data = x.v.data<double>(), .token = 3};
  args.out = {.data = result.mutable_data<double>(), .token = 3};
  args.scale = 1 / std::sqrt(3.0);
  args.statistics = {maxima, scales};
  args.workers = 1;
  const auto& kernel = kernels::table<double>();
  Tensor workspace = Tensor::empty({kernel.attention_workspace(args)}, kFloat64);
  args.workspace = workspace.mutable_data<double>();
  kernel.attention(args);
  const double sum = 1 / scales[0];
  expect_line("m = " + row(maxima, 1, 6));
  expect_line("l = " + row(&sum, 1, 6));
  expect_line("weight[0][2] = 1 / l = " + row(scales, 1, 6));
  expect_line("output[0] = " + row(result.data<double>(), 3, 6));
  const AttentionResult same = attention(x.q, x.k, x.v, {}, {.need_weights = AttentionRequest{}});
  EXPECT_EQ(row(same.weights.data<double>() + 2, 1, 6), row(scales, 1, 6));
}

/// The cells of a row `| `function` | `file` | ... |` of the page, or nothing.
std::vector<std::string> quoted_cells(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| `")) return cells;
  for (std::size_t at = 0; cells.size() < 2;) {
    const std::size_t begin = line.find('`', at);
    const std::size_t end = line.find('`', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) break;
    cells.push_back(line.substr(begin + 1, end - begin - 1));
    at = end + 1;
  }
  return cells;
}

TEST(OneScore, NamesFunctionsThatAreThere) {
  std::istringstream lines(page());
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = quoted_cells(line);
    if (cells.size() < 2) continue;
    ++seen;
    EXPECT_NE(text_of(cells[1]).find(cells[0]), std::string::npos) << line;
  }
  EXPECT_EQ(seen, 28);
}

}  // namespace
}  // namespace tessera::test

// examples/course/017_one_register.md follows one score to a register. Its printed values are
// computed here.

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

/// Checks that the page contains this line.
void expect_line(const std::string& line, const std::string& text) {
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

}  // namespace
}  // namespace tessera::test

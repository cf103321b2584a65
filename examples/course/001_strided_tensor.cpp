// A tensor is a list of numbers in memory, and a rule for finding element (i, j) in it:
//
//     position(i, j) = offset + i strides[0] + j strides[1]
//
// A view is another rule for the same memory, so it copies no element: transposes, slices, and
// broadcasting, in which the stride of an axis is 0.
//
//   001_strided_tensor [FOLDER]     prints; draws FOLDER/001_views.svg
//
// Source: van der Walt, Colbert and Varoquaux, "The NumPy Array", 2011, section on views.
#include <cstdio>
#include <string>
#include <vector>

#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

/// The positions in memory of a matrix's elements, by the formula above.
Matrix positions_of(const Tensor& x) {
  return matrix_of(x.size(0), x.size(1), [&](index_t i, index_t j) {
    return static_cast<double>(x.offset() + i * x.strides()[0] + j * x.strides()[1]);
  });
}

/// The same matrix, each element read from memory by its position.
Matrix read_by_hand(const Tensor& x) {
  const auto* memory = reinterpret_cast<const double*>(x.storage().data());
  const Matrix positions = positions_of(x);
  return matrix_of(x.size(0), x.size(1), [&](index_t i, index_t j) {
    return memory[static_cast<index_t>(positions(i, j))];
  });
}

/// Prints the rule of `x`, and whether `x` has the memory of `of`.
void describe(const char* code, const Tensor& x, const Tensor& of) {
  std::printf("%-24s %s", code,
              str_cat("shape ", x.shape(), ", strides ", x.strides(), ", offset ", x.offset(), ": ",
                      x.storage() == of.storage() ? "a view" : "a copy")
                  .c_str());
  std::printf("\n");
}

/// The same, then the elements; a matrix is also read by hand.
void describe_and_show(const char* code, const Tensor& x, const Tensor& of) {
  describe(code, x, of);
  std::printf("%s\n\n", to_string(x).c_str());
  if (x.rank() == 2) require_close(code, read_by_hand(x), x, 0);
}

/// Step 3. A write through a view is seen in all views of the memory.
void writes() {
  Tensor x = arange(12, kFloat64).reshape({3, 4});
  x.t().select(0, 1).fill(-1);
  show("Step 3: x after x.t().select(0, 1).fill(-1)", x);
}

/// Step 4. A shape of size 1, or without the axis, gets the stride 0 there.
void broadcasting(const Tensor& x) {
  std::printf("Step 4: Broadcasting\n");
  const Tensor means = mean(x, 1, true);
  show("mean(x, 1, true)", means);
  describe_and_show("    .expand({3, 4})", means.expand({3, 4}), means);
  show("x - mean(x, 1, true)", x - means);
}

/// Step 5. A reshape keeps the order of the elements, so after a transpose it has to copy.
void copies(const Tensor& x) {
  std::printf("Step 5: View or copy?\n");
  describe("x.reshape({2, 6})", x.reshape({2, 6}), x);
  describe("x.t().reshape({2, 6})", x.t().reshape({2, 6}), x);
  describe("x.t().contiguous()", x.t().contiguous(), x);
  std::printf("\n");
}

/// Step 6. A product reads its operands by their strides.
void products() {
  const Tensor q = arange(512 * 64, kFloat64).reshape({512, 64}) / 1000.0;
  const Tensor k = q + 1.0;
  std::printf("Step 6: The scores of 512 queries and 512 keys of width 64\n");
  describe("k.t()", k.t(), k);
  const bool equal = all(matmul(q, k.t()) == matmul(q, k.t().contiguous())).item<bool>();
  std::printf("matmul(q, k.t()) and matmul(q, k.t().contiguous()) are %s\n",
              equal ? "bitwise equal" : "DIFFERENT");
}

void draw(const std::string& folder, const Tensor& x) {
  Picture picture = {.description =
                         "Five views of twelve numbers; each square has its position in "
                         "memory",
                     .panels = {},
                     .low = 0,
                     .high = 11,
                     .square = 34,
                     .digits = 0};
  const std::vector<std::pair<const char*, Tensor>> views = {
      {"x", x},
      {"x.t()", x.t()},
      {"x.slice(1, 1, 3)", x.slice(1, 1, 3)},
      {"rows reversed", x.slice(0, {}, {}, -1)},
      {"row 2, expanded", x.select(0, 2).expand({3, 4})}};
  for (const auto& [title, view] : views) {
    picture.panels.push_back({title, positions_of(view), "axis 1", "axis 0"});
  }
  write_picture(folder, "001_views.svg", picture);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("001_strided_tensor", argc, argv, "[FOLDER]", [&] {
    const Tensor x = arange(12, kFloat64).reshape({3, 4});
    std::printf("Step 1: Twelve numbers in memory\n");
    describe_and_show("x", x, x);
    std::printf("Step 2: Views\n");
    describe_and_show("x.t()", x.t(), x);
    describe_and_show("x.slice(1, 1, 3)", x.slice(1, 1, 3), x);
    describe_and_show("x.slice(0, {}, {}, -1)", x.slice(0, {}, {}, -1), x);
    describe_and_show("x.select(1, 2)", x.select(1, 2), x);
    describe_and_show("x.select(0, 2)", x.select(0, 2), x);
    describe_and_show("    .expand({3, 4})", x.select(0, 2).expand({3, 4}), x);
    writes();
    broadcasting(x);
    copies(x);
    products();
    if (argc > 1) draw(argv[1], x);
  });
}

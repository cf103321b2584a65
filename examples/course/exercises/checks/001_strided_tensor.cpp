#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

/// A row of numbers for expect_close.
Matrix row_of(const Sizes& numbers) {
  Matrix row(1, static_cast<index_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    row(0, static_cast<index_t>(i)) = static_cast<double>(numbers[i]);
  }
  return row;
}

Sizes list_of(const Dims& dims) {
  return Sizes(dims.begin(), dims.end());
}

View view_of(const Tensor& x) {
  return {list_of(x.shape()), list_of(x.strides()), x.offset()};
}

void strides_are_row_major() {
  const Sizes shape = {2, 3, 4};
  expect_close("contiguous_strides({2, 3, 4})", row_of(contiguous_strides(shape)), {{12, 4, 1}},
               {{{{1, 2, 6}}, "the last axis has stride 1; here the first has it"},
                {{{24, 12, 4}}, "the last stride must be 1"},
                {{{3, 4, 1}}, "a stride is the product of all sizes after its axis"}});
  expect_close("contiguous_strides({5})", row_of(contiguous_strides({5})), {{1}});
  expect_close("contiguous_strides({2, 1, 3})", row_of(contiguous_strides({2, 1, 3})), {{3, 3, 1}});
}

void slices_are_views() {
  const Tensor x = zeros({5, 7}).t();  // strides 1 and 7
  const auto check = [&](index_t axis, index_t start, index_t stop, index_t step) {
    const View wanted = view_of(x.slice(axis, start, stop, step));
    const View found = sliced(view_of(x), static_cast<std::size_t>(axis), start, stop, step);
    const std::string call =
        str_cat("sliced(view, ", axis, ", ", start, ", ", stop, ", ", step, ")");
    const index_t count = stop - start;
    expect_close(call + ".shape", row_of(found.shape), row_of(wanted.shape),
                 {{row_of(axis == 0 ? Sizes{count, 5} : Sizes{7, count}),
                   "with a step, only every step-th element remains"},
                  {row_of(axis == 0 ? Sizes{count / step, 5} : Sizes{7, count / step}),
                   "the last step may be shorter: round the quotient up"}});
    expect_close(call + ".strides", row_of(found.strides), row_of(wanted.strides),
                 {{row_of({1, 7}), "a step of 2 doubles the stride"}});
    expect_close(call + ".offset", static_cast<double>(found.offset),
                 static_cast<double>(wanted.offset),
                 {{start, "start counts elements of the axis: multiply it by the axis's stride"},
                  {0, "the first element is at start, so the offset grows"}});
  };
  check(1, 1, 4, 1);
  check(0, 0, 6, 2);
  check(0, 2, 7, 3);
  check(1, 2, 5, 2);
  const View again = sliced(view_of(x.slice(1, 1, 4)), 1, 1, 3, 1);
  expect_close("the offset of a slice of a slice", static_cast<double>(again.offset), 14,
               {{7, "the view has an offset already: add to it"}});
}

void expanded_axes_have_stride_0() {
  const Tensor column = zeros({3, 1});
  const View wide = expanded(view_of(column), {3, 4});
  expect_close("expanded((3, 1), {3, 4}).strides", row_of(wide.strides), {{1, 0}},
               {{{{1, 1}}, "all 4 columns are the same element: their stride is 0"},
                {{{0, 0}}, "only the axis that grows gets stride 0"}});
  expect_close("expanded((3, 1), {3, 4}).shape", row_of(wide.shape), {{3, 4}},
               {{{{3, 1}}, "the result has the new shape"}});
  const Tensor row = arange(8).slice(0, 4, {});
  const View tall = expanded(view_of(row), {3, 4});
  expect_close("expanded((4), {3, 4}).strides", row_of(tall.strides), {{0, 1}},
               {{{{1, 0}}, "shapes are aligned at the last axis, not at the first"},
                {{{0, 0}}, "shapes are aligned at the last axis, not at the first"}});
  expect_close("expanded((4), {3, 4}).offset", static_cast<double>(tall.offset), 4,
               {{0, "the offset stays"}});
  const Tensor x = zeros({2, 1, 3}).permute({1, 2, 0});
  expect_close("expanded((1, 3, 2), {5, 4, 3, 2}).strides",
               row_of(expanded(view_of(x), {5, 4, 3, 2}).strides),
               row_of(list_of(x.expand({5, 4, 3, 2}).strides())));
}

std::vector<Exercise> all_exercises() {
  return {
      {"001.1 contiguous_strides", "begin with the last axis and multiply the sizes on the way",
       strides_are_row_major},
      {"001.2 sliced", "offset, size and stride of one axis change; the others stay",
       slices_are_views},
      {"001.3 expanded", "a stride is kept where the sizes are equal; elsewhere it is 0",
       expanded_axes_have_stride_0},
  };
}

}  // namespace tessera::exercises::checks

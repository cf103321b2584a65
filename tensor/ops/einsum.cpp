
#include <algorithm>

#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera {

namespace {

/// A list of axes, one character each: letters as in the spec; the axes of "..." are digits,
/// counted from the right, so that operands align there.
using Labels = std::string;

bool contains(const Labels& labels, char label) {
  return labels.find(label) != Labels::npos;
}

bool is_letter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
}

/// An operand whose axis i is called labels[i]; bools are converted to int64.
struct Term {
  Labels labels;
  Tensor tensor;

  index_t axis(char label) const {
    return std::find(labels.begin(), labels.end(), label) - labels.begin();
  }
  index_t size(char label) const { return tensor.shape()[axis(label)]; }
};

struct Spec {
  std::vector<Labels> inputs;
  Labels output;
  bool is_explicit = false;
};

/// Splits the spec at "->" and at commas, and removes spaces.
Spec split(const std::string& text) {
  std::string spec = text;
  std::erase(spec, ' ');
  Spec result;
  const std::size_t arrow = spec.find("->");
  result.is_explicit = arrow != std::string::npos;
  if (result.is_explicit) result.output = spec.substr(arrow + 2);
  std::string inputs = spec.substr(0, arrow);
  for (std::size_t comma; (comma = inputs.find(',')) != std::string::npos;) {
    result.inputs.push_back(inputs.substr(0, comma));
    inputs.erase(0, comma + 1);
  }
  result.inputs.push_back(inputs);
  return result;
}

/// Replaces "..." by the digits of `rank` axes, and refuses all other characters except letters.
Labels expand_ellipsis(const std::string& spec, Labels term, index_t rank) {
  Labels digits;
  for (index_t i = rank - 1; i >= 0; --i) digits += static_cast<char>('0' + i);
  const std::size_t dots = term.find("...");
  if (dots != Labels::npos) term.erase(dots, 3);
  for (char c : term) {
    if (is_letter(c)) continue;
    fail("einsum", "labels must be letters, got ", printable(std::string_view(&c, 1)), " in \"",
         spec, "\"");
  }
  return dots == Labels::npos ? term : term.insert(dots, digits);
}

index_t letter_count(const Labels& term) {
  return std::count_if(term.begin(), term.end(), is_letter);
}

Term make_term(const std::string& spec, const Labels& text, const Tensor& tensor) {
  require(tensor.defined(), "einsum", "operands must be defined, got an undefined tensor");
  const bool has_ellipsis = text.find("...") != Labels::npos;
  const index_t rest = tensor.rank() - letter_count(text);
  const Labels labels = expand_ellipsis(spec, text, rest);
  require(has_ellipsis ? rest >= 0 : rest == 0, "einsum",
          "labels must name each axis of the operand, got \"", text, "\" for shape ",
          tensor.shape(), " in \"", spec, "\"");
  return {labels, tensor.dtype() == kBool ? tensor.to(kInt64) : tensor};
}

/// The spec's output. Without one: the digits of the ellipsis in descending order, then the labels
/// that occur once over all terms in ASCII order.
Labels output_labels(const std::string& text, const Spec& spec, const std::vector<Term>& terms) {
  Labels all;
  index_t ellipsis = 0;
  for (const Term& term : terms) {
    all += term.labels;
    ellipsis = std::max(ellipsis, std::ssize(term.labels) - letter_count(term.labels));
  }
  if (!spec.is_explicit) {
    Labels letters;
    for (char c : all) {
      if (is_letter(c) && std::count(all.begin(), all.end(), c) == 1) letters += c;
    }
    std::sort(letters.begin(), letters.end());
    return expand_ellipsis(text, "..." + letters, ellipsis);
  }
  const Labels output = expand_ellipsis(text, spec.output, ellipsis);
  for (char c : output) {
    require(contains(all, c), "einsum", "output labels must appear in an operand, got '", c,
            "' in \"", text, "\"");
    require(std::count(output.begin(), output.end(), c) == 1, "einsum",
            "output labels must be different, got '", c, "' twice in \"", text, "\"");
  }
  return output;
}

/// Makes each label name one axis: repeated labels are replaced by the diagonal over their axes.
Term take_diagonals(const std::string& spec, Term term) {
  for (std::size_t i = 0; i < term.labels.size();) {
    const char label = term.labels[i];
    const std::size_t again = term.labels.find(label, i + 1);
    if (again == Labels::npos) {
      ++i;
      continue;
    }
    const auto a = static_cast<index_t>(i);
    const auto b = static_cast<index_t>(again);
    require(term.tensor.shape()[a] == term.tensor.shape()[b], "einsum", "sizes of label '", label,
            "' in one operand must be equal, got ", term.tensor.shape()[a], " and ",
            term.tensor.shape()[b], " in \"", spec, "\"");
    term.tensor = term.tensor.diagonal(0, a, b);
    term.labels.erase(again, 1);
    term.labels.erase(i, 1);
    term.labels += label;
  }
  return term;
}

Term sum_all_but(Term term, const Labels& kept) {
  Axes axes;
  Labels labels;
  for (index_t i = 0; i < std::ssize(term.labels); ++i) {
    const char label = term.labels[static_cast<std::size_t>(i)];
    if (contains(kept, label)) {
      labels += label;
    } else {
      axes.push_back(i);
    }
  }
  if (axes.empty()) return term;  // sum() takes no axes for all axes
  return {labels, sum(term.tensor, axes)};
}

/// The term's tensor with its axes in the order of `labels`; missing axes have size 1.
Tensor arrange(const Term& term, const Labels& labels) {
  Axes order;
  for (char label : labels) {
    if (contains(term.labels, label)) order.push_back(term.axis(label));
  }
  Tensor result = term.tensor.permute(order);
  for (index_t i = 0; i < std::ssize(labels); ++i) {
    if (!contains(term.labels, labels[static_cast<std::size_t>(i)])) result = result.unsqueeze(i);
  }
  return result;
}

/// Handles axes where `a` has size 1 and b has not: a summed axis is stretched; an axis of the
/// output is dropped, so that it belongs to b only and a is not copied.
Term match_sizes(const std::string& spec, Term a, const Term& b, const Labels& output) {
  for (char label : Labels(a.labels)) {
    if (!contains(b.labels, label) || a.size(label) == b.size(label)) continue;
    require(a.size(label) == 1 || b.size(label) == 1, "einsum", "sizes of label '", label,
            "' must be equal or 1, got ", a.size(label), " and ", b.size(label), " in \"", spec,
            "\"");
    if (a.size(label) != 1) continue;
    if (contains(output, label)) {
      a.tensor = a.tensor.squeeze(a.axis(label));
      std::erase(a.labels, label);
    } else {
      Shape shape = a.tensor.shape();
      shape[a.axis(label)] = b.size(label);
      a.tensor = a.tensor.expand(shape);
    }
  }
  return a;
}

index_t product(const Shape& shape, std::size_t first, std::size_t count) {
  index_t result = 1;
  for (std::size_t i = first; i < first + count; ++i) result *= shape[static_cast<index_t>(i)];
  return result;
}

/// A tensor with axes (batch..., first..., second...) as a batch of matrices.
Tensor as_matrices(const Tensor& x, std::size_t batch, std::size_t first, std::size_t second) {
  Shape shape;
  for (std::size_t i = 0; i < batch; ++i) shape.push_back(x.shape()[static_cast<index_t>(i)]);
  if (std::ssize(shape) > kMaxRank - 2) shape = {product(shape, 0, batch)};
  shape.push_back(product(x.shape(), batch, first));
  shape.push_back(product(x.shape(), batch + first, second));
  return x.reshape(shape);
}

/// The product of two terms that have the same inner labels. Each operand has each label once, so
/// the axes are batch, rows (only in a), columns (only in b) and inner.
Tensor contract(const Term& a, const Term& b, const Labels& output) {
  Labels batch;
  Labels rows;
  Labels columns;
  Labels inner;
  for (char label : output) {
    const bool in_b = contains(b.labels, label);
    (!contains(a.labels, label) ? columns : in_b ? batch : rows) += label;
  }
  for (char label : a.labels) {
    if (!contains(output, label)) inner += label;
  }
  if (inner.empty()) return arrange(a, output) * arrange(b, output);

  const Tensor left =
      as_matrices(arrange(a, batch + rows + inner), batch.size(), rows.size(), inner.size());
  const Tensor right =
      as_matrices(arrange(b, batch + inner + columns), batch.size(), inner.size(), columns.size());
  Shape shape;
  for (char label : batch + rows) shape.push_back(a.size(label));
  for (char label : columns) shape.push_back(b.size(label));
  const Term result = {batch + rows + columns, matmul(left, right).reshape(shape)};
  return arrange(result, output).contiguous();
}

}  // namespace

Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands) {
  const Spec parts = split(spec);
  require(parts.inputs.size() == operands.size(), "einsum", "\"", spec, "\" must have ",
          parts.inputs.size(), " operands, got ", operands.size());
  require(operands.size() <= 2, "einsum", "number of operands must be 1 or 2, got ",
          operands.size());
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(make_term(spec, parts.inputs[i], operands[i]));
  }
  const Labels output = output_labels(spec, parts, terms);
  for (Term& term : terms) term = take_diagonals(spec, term);
  if (terms.size() == 1) {
    const Tensor result = arrange(sum_all_but(terms[0], output), output);
    return result.storage() == operands[0].storage() ? result.clone() : result.contiguous();
  }

  Term a = sum_all_but(terms[0], output + terms[1].labels);
  Term b = sum_all_but(terms[1], output + terms[0].labels);
  a = match_sizes(spec, a, b, output);
  b = match_sizes(spec, b, a, output);
  return contract(a, b, output);
}

}  // namespace tessera

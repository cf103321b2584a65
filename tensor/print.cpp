#include "tessera/tensor/print.h"

#include <ostream>
#include <string_view>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"

namespace tessera {

namespace {

/// The indices of an axis that are shown: the first `leading`, then "..." if any are omitted, then
/// the last `trailing`.
struct Shown {
  Shown(index_t axis_size, bool elide, index_t edgeitems)
      : size(axis_size),
        elided(elide && edgeitems < (size + 1) / 2),
        leading(elided ? edgeitems : size),
        trailing(elided ? edgeitems : 0) {}

  index_t count() const { return leading + trailing; }
  index_t index(index_t i) const { return i < leading ? i : size - count() + i; }

  index_t size;
  bool elided;
  index_t leading, trailing;
};

template <class T>
struct Collector {
  const Tensor& tensor;
  bool elide;
  index_t edgeitems;
  std::vector<T> values;

  void run(index_t axis, const T* element) {
    if (axis == tensor.rank()) {
      values.push_back(*element);
      return;
    }
    const Shown shown(tensor.shape()[axis], elide, edgeitems);
    for (index_t i = 0; i < shown.count(); ++i) {
      run(axis + 1, element + shown.index(i) * tensor.strides()[axis]);
    }
  }
};

/// The shown elements in row-major order, each as its padded text.
std::vector<std::string> shown_words(const Tensor& tensor, bool elide,
                                     const PrintOptions& options) {
  return visit_dtype(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    Collector<T> collector{tensor, elide, options.edgeitems, {}};
    collector.run(0, tensor.detach().data<T>());
    const std::vector<T>& values = collector.values;
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::string> words;
      const char* yes = tensor.rank() == 0 ? "True" : " True";
      for (const bool value : values) words.push_back(value ? yes : "False");
      return words;
    } else if constexpr (std::is_same_v<T, index_t>) {
      return format_integers(values);
    } else {
      return format_floats(values, options.precision, options.suppress);
    }
  });
}

/// Arranges words in brackets and lines.
class Printer {
 public:
  Printer(const Tensor& tensor, const PrintOptions& options, std::string_view separator)
      : shape_(tensor.shape()),
        elide_(tensor.count() > options.threshold),
        edge_items_(options.edgeitems),
        separator_(separator),
        words_(shown_words(tensor, elide_, options)) {}

  /// The text from `axis` on. Lines after the first begin with `indent`; `width` is the space on a
  /// line before the closing brackets of the outer axes.
  std::string run(index_t axis, const std::string& indent, index_t width) {
    if (axis == shape_.size()) return words_[next_++];
    const Shown shown(shape_[axis], elide_, edge_items_);
    std::string text = "[";
    text += axis + 1 == shape_.size() ? row(shown, indent, width - 1)
                                      : block(axis, shown, indent, width - 1);
    return text += ']';
  }

 private:
  static void rstrip(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

  /// The last axis: words, with a line break where the next one does not fit.
  std::string row(const Shown& shown, const std::string& indent, index_t width) {
    std::string done;
    std::string line = indent;
    const auto add = [&](std::string_view word) {
      if (std::ssize(line) + std::ssize(word) > width && line.size() > indent.size()) {
        rstrip(line);
        done += line + '\n';
        line = indent;
      }
      line += word;
    };
    for (index_t i = 0; i < shown.count(); ++i) {
      if (shown.elided && i == shown.leading) {
        add("...");
        line += separator_;
      }
      add(words_[next_++]);
      if (i + 1 < shown.count()) line += separator_;
    }
    return (done + line).substr(indent.size());
  }

  /// Any other axis: parts one below the other, with an additional blank line for each axis in
  /// between.
  std::string block(index_t axis, const Shown& shown, const std::string& indent, index_t width) {
    std::string between(separator_);
    rstrip(between);
    between.append(static_cast<std::size_t>(shape_.size() - axis - 1), '\n');
    between += indent;
    std::string text;
    for (index_t i = 0; i < shown.count(); ++i) {
      if (shown.elided && i == shown.leading) text += "..." + between;
      text += run(axis + 1, indent + ' ', width);
      if (i + 1 < shown.count()) text += between;
    }
    return text;
  }

  const Shape shape_;
  const bool elide_;
  const index_t edge_items_;
  const std::string_view separator_;
  const std::vector<std::string> words_;
  std::size_t next_ = 0;
};

void check(const Tensor& tensor, const char* op, const PrintOptions& options) {
  require(tensor.defined(), op, "tensor must be defined, got an undefined one");
  require(options.precision >= 0, op, "precision must be at least 0, got ", options.precision);
  require(options.edgeitems >= 1, op, "edgeitems must be at least 1, got ", options.edgeitems);
}

std::string scalar_text(const Tensor& scalar) {
  return visit_dtype(scalar.dtype(), [&](auto kind) -> std::string {
    using T = decltype(kind);
    const T value = scalar.item<T>();
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "True" : "False";
    } else if constexpr (std::is_same_v<T, index_t>) {
      return std::to_string(value);
    } else {
      return format_scalar(value);
    }
  });
}

}  // namespace

std::string to_string(const Tensor& tensor, const PrintOptions& options) {
  if (!tensor.defined()) return "undefined";
  check(tensor, "to_string", options);
  if (tensor.rank() == 0) return scalar_text(tensor);
  if (tensor.count() == 0) return "[]";
  return Printer(tensor, options, " ").run(0, " ", options.linewidth);
}

std::string repr(const Tensor& tensor, const PrintOptions& options) {
  if (!tensor.defined()) return "undefined";
  check(tensor, "repr", options);
  // NumPy omits the dtypes of Python's own numbers.
  const bool implied = tensor.dtype() != kFloat32 && tensor.count() > 0;
  const std::string head = "array(";
  const std::string indent(head.size(), ' ');
  std::string text = head;
  if (tensor.count() > 0) {
    text += Printer(tensor, options, ", ").run(0, indent + ' ', options.linewidth - 1);
  } else {
    text += tensor.rank() == 1 ? "[]" : str_cat("[], shape=", tensor.shape());
  }
  if (implied) return text + ")";
  text += ",";
  const std::string dtype = str_cat("dtype=", tensor.dtype(), ")");
  const auto last_line = std::ssize(text) - static_cast<index_t>(text.rfind('\n') + 1);
  const bool fits = last_line + std::ssize(dtype) + 1 <= options.linewidth;
  return text + (fits ? " " : "\n" + indent) + dtype;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}

}  // namespace tessera

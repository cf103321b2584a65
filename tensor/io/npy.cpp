#include "tessera/tensor/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/elements.h"

namespace tessera {

namespace {

/// A Python dict such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct NpyHeader {
  std::string descr;  // byte order, kind and size: "<f4"
  bool fortran_order = false;
  Shape shape;
};

/// Reads the dict: exactly these three keys, in any order, then white space only.
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader run() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (next_ < text_.size()) fail_here("must be the end of the header, got text after the dict");
    for (std::size_t i = 0; i < 3; ++i) {
      if (!seen_[i]) fail_file(file_, "header: must have the key '", kKeys[i], "'");
    }
    return header_;
  }

 private:
  static constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail_file(file_, "header, character ", next_, ": ", parts...);
  }

  void skip_space() {
    constexpr std::string_view kSpace = " \t\r\n";
    next_ = std::min(text_.find_first_not_of(kSpace, next_), text_.size());
  }

  bool accept(char wanted) {
    skip_space();
    const bool found = next_ < text_.size() && text_[next_] == wanted;
    next_ += found ? 1 : 0;
    return found;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail_here("must be '", wanted, "'");
  }

  void entry() {
    const std::string key = string("a key in quotes");
    const auto index =
        static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
    if (index == kKeys.size())
      fail_here("key must be 'descr', 'fortran_order' or 'shape', got ", printable(key));
    if (seen_[index]) fail_here("keys must be different, got '", key, "' twice");
    seen_[index] = true;
    expect(':');
    switch (index) {
      case 0:
        header_.descr = string("a dtype in quotes (lists of fields cannot be loaded)");
        break;
      case 1:
        header_.fortran_order = boolean();
        break;
      default:
        header_.shape = shape();
        break;
    }
  }

  std::string string(const char* what) {
    skip_space();
    const char quote = next_ < text_.size() ? text_[next_] : '\0';
    if (quote != '\'' && quote != '"') fail_here("must be ", what);
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == std::string_view::npos) fail_here("string must end in a quote");
    const std::string_view content = text_.substr(next_ + 1, end - next_ - 1);
    if (content.find('\\') != std::string_view::npos) fail_here("string must not have escapes");
    next_ = end + 1;
    return std::string(content);
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(next_, word.size()) == word) {
        next_ += word.size();
        return word == "True";
      }
    }
    fail_here("must be True or False");
  }

  Shape shape() {
    Shape result;
    expect('(');
    while (!accept(')')) {
      if (result.size() == kMaxRank) fail_here("number of axes must be at most ", kMaxRank);
      result.push_back(size());
      if (accept(',')) continue;
      if (result.size() == 1) fail_here("must be ',' (a tuple of one size is written (3,))");
      expect(')');
      break;
    }
    return result;
  }

  index_t size() {
    skip_space();
    index_t value = 0;
    const auto digits = std::from_chars(text_.data() + next_, text_.data() + text_.size(), value);
    const char first = next_ < text_.size() ? text_[next_] : '\0';
    if (first < '0' || first > '9') fail_here("must be a size");
    if (digits.ec != std::errc()) fail_here("size must fit int64");
    const auto length = static_cast<std::size_t>(digits.ptr - text_.data()) - next_;
    if (first == '0' && length > 1) fail_here("size must not have leading zeros");
    next_ += length;
    if (next_ < text_.size() && text_[next_] == 'L') ++next_;  // Python 2's long integers
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t next_ = 0;
  NpyHeader header_;
  std::array<bool, 3> seen_{};
};

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr index_t kMaxNpyHeader = 10000;  // as NumPy's own reader

constexpr std::array kNpyFormats = {
    element_format<BoolByte, bool>("b1", "bool"),
    element_format<float, float>("f4", "float32"),
    element_format<double, double>("f8", "float64"),
    element_format<Half, float>("f2", "float16"),
    element_format<std::int8_t, index_t>("i1", "int8"),
    element_format<std::int16_t, index_t>("i2", "int16"),
    element_format<std::int32_t, index_t>("i4", "int32"),
    element_format<index_t, index_t>("i8", "int64"),
    element_format<std::uint8_t, index_t>("u1", "uint8"),
    element_format<std::uint16_t, index_t>("u2", "uint16"),
    element_format<std::uint32_t, index_t>("u4", "uint32"),
};

/// The meaning of `descr`: how the elements are stored, and whether their bytes are swapped.
struct NpyElements {
  const ElementFormat& format;
  bool swap;
};

NpyElements parse_descr(const std::string& descr, const std::string& file) {
  const std::string_view code = descr.empty() ? descr : std::string_view(descr).substr(1);
  const char order = descr.empty() ? '\0' : descr.front();
  if (code == "O") {
    fail_file(file, "header: dtype must be bool or numeric, got Python objects ('O')");
  }
  for (const ElementFormat& format : kNpyFormats) {
    if (format.code != code) continue;
    const bool has_order = order == '<' || order == '>';
    if (!has_order && !(order == '|' && format.size == 1)) break;
    return {format, format.size > 1 && (order == '<') != kLittleEndian};
  }
  fail_file(file,
            "header: dtype must be bool, int8 to int64, uint8 to uint32, float16, float32 or "
            "float64, got ",
            printable(descr));
}

/// The text of the header, and the offset of the elements.
struct Preamble {
  std::string header;
  index_t end;
};

Preamble read_preamble(const FileRegion& region) {
  std::array<unsigned char, 12> head{};
  if (region.size < 10)
    fail_file(region.name, "must be a .npy file, got only ", region.size, " bytes");
  region.read(0, head.data(), 10);
  if (!std::equal(kMagic.begin(), kMagic.end(), head.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; })) {
    fail_file(region.name, "byte 0: must be \\x93NUMPY, as in a .npy file");
  }
  const int major = head[6];
  if (major < 1 || major > 3 || head[7] != 0) {
    fail_file(region.name, "byte 6: version must be 1.0, 2.0 or 3.0, got ", major, ".",
              static_cast<int>(head[7]));
  }
  const index_t begin = major == 1 ? 10 : 12;
  if (region.size < begin)
    fail_file(region.name, "byte 8: must be the header's length, got the end of the file");
  region.read(0, head.data(), begin);
  const auto bytes = static_cast<std::size_t>(begin);
  const std::uint64_t length = little_endian(std::span(head).first(bytes).subspan(8));
  std::string header = read_header(region, 8, length, begin, kMaxNpyHeader);
  return {std::move(header), begin + static_cast<index_t>(length)};
}

Shape reversed(const Shape& shape) {
  Shape result;
  for (const index_t size : shape) result.insert(0, size);
  return result;
}

}  // namespace

Tensor load_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  refuse_incomplete_download(file);
  return read_npy(file);
}

std::string npy_dtype(const std::filesystem::path& path) {
  const InputFile file(path);
  refuse_incomplete_download(file);
  const NpyHeader header = NpyHeaderParser(read_preamble(file).header, file.name()).run();
  return std::string(parse_descr(header.descr, file.name()).format.name);
}

Tensor read_npy(const FileRegion& region) {
  const Preamble preamble = read_preamble(region);
  const NpyHeader header = NpyHeaderParser(preamble.header, region.name).run();
  const NpyElements elements = parse_descr(header.descr, region.name);
  const index_t wanted = stored_bytes(header.shape, elements.format.size, region.name + ": header");
  const index_t present = region.size - preamble.end;
  if (present != wanted) {
    fail_file(region.name, "byte ", preamble.end, ": shape ", header.shape, " of ",
              elements.format.name, " must have ", wanted, " bytes, got ", present);
  }
  const Shape stored_shape = header.fortran_order ? reversed(header.shape) : header.shape;
  Tensor result = Tensor::empty(stored_shape, elements.format.dtype);
  elements.format.read(region, preamble.end, elements.swap, result);
  if (!header.fortran_order) return result;
  Axes backwards;
  for (index_t axis = result.rank() - 1; axis >= 0; --axis) backwards.push_back(axis);
  return result.permute(backwards).contiguous();
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  require(tensor.defined(), "save_npy", "tensor must be defined, got an undefined one");
  const DType dtype = tensor.dtype();
  const ElementFormat& format = format_of(kNpyFormats, dtype);
  const char order = format.size == 1 ? '|' : kLittleEndian ? '<' : '>';
  std::string text = str_cat("{'descr': '", order, format.code,
                             "', 'fortran_order': False, 'shape': ", tensor.shape(), ", }");
  // The elements begin at a multiple of 64 bytes.
  constexpr std::size_t kBefore = 10;
  text.append(63 - (kBefore + text.size()) % 64, ' ');
  text += '\n';
  std::string head(kMagic);
  head += {'\1', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  head += text;

  const Tensor source = tensor.detach().contiguous();
  const std::span<const char> elements(static_cast<const char*>(source.untyped_data()),
                                       static_cast<std::size_t>(source.count() * item_size(dtype)));
  write_file(path, {std::as_bytes(std::span<const char>(head)), std::as_bytes(elements)});
}

}  // namespace tessera

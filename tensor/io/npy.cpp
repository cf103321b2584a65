#include "tensor/io/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "tensor/io/npy_header.h"

namespace tessera {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr index_t kMaxHeader = 10000;  // as NumPy's own reader
constexpr bool kLittle = std::endian::native == std::endian::little;

/// IEEE's 16-bit float: sign, 5 bits of exponent, 10 of fraction.
struct Half {
  std::uint16_t bits;

  explicit operator float() const {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    float size = std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31) {
      size = fraction == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent > 0) {
      size = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -size : size;
  }
};

/// A byte that is true unless 0, whatever else it holds.
struct BoolByte {
  std::uint8_t byte;
  explicit operator bool() const { return byte != 0; }
};

/// Reads the elements of `target` as values of type Stored from `offset` on.
template <class Stored, class T>
void read_elements(const FileRegion& region, index_t offset, bool swap, Tensor& target) {
  T* out = target.mutable_data<T>();
  const index_t count = target.count();
  constexpr auto kSize = static_cast<index_t>(sizeof(Stored));
  if (std::is_same_v<Stored, T> && !swap) return region.read(offset, out, count * kSize);
  constexpr index_t kChunk = 8192;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, kChunk) * kSize));
  for (index_t done = 0; done < count; done += kChunk) {
    const index_t n = std::min(kChunk, count - done);
    region.read(offset + done * kSize, bytes.data(), n * kSize);
    for (index_t i = 0; i < n; ++i) {
      std::byte* const first = bytes.data() + i * kSize;
      if (swap) std::reverse(first, first + kSize);
      Stored value;
      std::memcpy(&value, first, sizeof value);
      out[done + i] = static_cast<T>(value);
    }
  }
}

/// A kind of element that can be loaded: NumPy's code for it, and what it becomes.
struct Format {
  std::string_view code;
  index_t size;
  DType dtype;
  void (*read)(const FileRegion&, index_t offset, bool swap, Tensor& target);
};

template <class Stored, class T>
constexpr Format format_of(std::string_view code) {
  return {code, sizeof(Stored), dtype_of<T>, read_elements<Stored, T>};
}

constexpr std::array kFormats = {
    format_of<BoolByte, bool>("b1"),         format_of<float, float>("f4"),
    format_of<double, double>("f8"),         format_of<Half, float>("f2"),
    format_of<std::int8_t, index_t>("i1"),   format_of<std::int16_t, index_t>("i2"),
    format_of<std::int32_t, index_t>("i4"),  format_of<index_t, index_t>("i8"),
    format_of<std::uint8_t, index_t>("u1"),  format_of<std::uint16_t, index_t>("u2"),
    format_of<std::uint32_t, index_t>("u4"),
};

/// What `descr` says: how the elements are stored, and whether in the other byte order.
struct Layout {
  const Format& format;
  bool swap;
};

Layout parse_descr(const std::string& descr, const std::string& file) {
  const std::string_view code = descr.empty() ? descr : std::string_view(descr).substr(1);
  const char order = descr.empty() ? '\0' : descr.front();
  if (code == "O") {
    fail_file(file, "header: an array of Python objects (dtype 'O') is never loaded");
  }
  for (const Format& format : kFormats) {
    if (format.code != code) continue;
    const bool has_order = order == '<' || order == '>';
    if (!has_order && !(order == '|' && format.size == 1)) break;
    return {format, format.size > 1 && (order == '<') != kLittle};
  }
  fail_file(file, "header: cannot load dtype ", printable(descr),
            "; wanted bool, int8 to int64, uint8 to uint32, float16, float32 or float64, as '<f4'");
}

/// The shape's number of bytes. Sizes of 0 make it 0, but the others must not overflow for that.
index_t byte_count(const Shape& shape, index_t item, const std::string& file) {
  index_t bytes = 8;  // no element is larger once it is loaded
  bool has_zero = false;
  for (const index_t size : shape) {
    has_zero = has_zero || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<index_t>(size, 1), &bytes)) {
      fail_file(file, "header: shape ", shape, " has more elements than can be addressed");
    }
  }
  return has_zero ? 0 : bytes / 8 * item;
}

/// The text of the header and where the elements begin.
struct Preamble {
  std::string header;
  index_t end;
};

Preamble read_preamble(const FileRegion& region) {
  std::array<unsigned char, 12> head{};
  if (region.size < 10) fail_file(region.name, "not a .npy file: only ", region.size, " bytes");
  region.read(0, head.data(), 10);
  if (!std::equal(kMagic.begin(), kMagic.end(), head.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; })) {
    fail_file(region.name, "byte 0: not a .npy file: it does not begin with \\x93NUMPY");
  }
  const int major = head[6];
  if (major < 1 || major > 3 || head[7] != 0) {
    fail_file(region.name, "byte 6: version ", major, ".", static_cast<int>(head[7]),
              " of the format is not known (1.0, 2.0 and 3.0 are)");
  }
  const index_t begin = major == 1 ? 10 : 12;
  if (region.size < begin) fail_file(region.name, "byte 8: the file ends in the header's length");
  region.read(0, head.data(), begin);
  index_t length = 0;
  for (index_t i = begin - 1; i >= 8; --i)
    length = length * 256 + head[static_cast<std::size_t>(i)];
  if (length > kMaxHeader) {
    fail_file(region.name, "byte 8: a header of ", length, " bytes; at most ", kMaxHeader);
  }
  if (length > region.size - begin) {
    fail_file(region.name, "byte 8: a header of ", length, " bytes, but the file has ",
              region.size - begin, " more");
  }
  std::string header(static_cast<std::size_t>(length), '\0');
  region.read(begin, header.data(), length);
  return {std::move(header), begin + length};
}

Shape reversed(const Shape& shape) {
  Shape result;
  for (const index_t size : shape) result.insert(0, size);
  return result;
}

}  // namespace

Tensor load_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  return read_npy(file);
}

Tensor read_npy(const FileRegion& region) {
  const Preamble preamble = read_preamble(region);
  const NpyHeader header = parse_npy_header(preamble.header, region.name);
  const Layout layout = parse_descr(header.descr, region.name);
  const index_t wanted = byte_count(header.shape, layout.format.size, region.name);
  const index_t present = region.size - preamble.end;
  if (present != wanted) {
    fail_file(region.name, "byte ", preamble.end, ": shape ", header.shape, " of ",
              printable(header.descr), " needs ", wanted, " bytes, but ", present, " follow");
  }
  const Shape stored_shape = header.fortran_order ? reversed(header.shape) : header.shape;
  Tensor result = Tensor::empty(stored_shape, layout.format.dtype);
  layout.format.read(region, preamble.end, layout.swap, result);
  if (!header.fortran_order) return result;
  Axes backwards;
  for (index_t axis = result.rank() - 1; axis >= 0; --axis) backwards.push_back(axis);
  return result.permute(backwards).contiguous();
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  require(tensor.defined(), "save_npy", "the tensor is undefined");
  const DType dtype = tensor.dtype();
  const auto* format = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& candidate) {
    return candidate.dtype == dtype && candidate.size == item_size(dtype);
  });
  const char order = format->size == 1 ? '|' : kLittle ? '<' : '>';
  std::string text = format_npy_header({order + std::string(format->code), false, tensor.shape()});
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

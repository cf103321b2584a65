#include "examples/course/svg.h"

#include <cstdio>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr const char* kStyle =
    "<style>\n"
    "svg{--ground:#fff;--ink:#1f2328;--line:#8c959f;--low:#b2182b;--high:#0860ca;--on:#fff}\n"
    "@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#f0f6fc;--line:#656c76;"
    "--low:#ff7b72;--high:#6cb6ff;--on:#0d1117}}\n"
    "text{font:13px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}.t{font-weight:600}"
    ".e{text-anchor:end}.i{text-anchor:start}.o{fill:var(--on)}\n"
    ".l{fill:var(--low)}.h{fill:var(--high)}.f{fill:none;stroke:var(--line)}\n"
    "</style>\n";

}  // namespace

std::string svg_text(double x, double y, const std::string& text, const std::string& kind) {
  return str_cat("<text class=\"", kind, "\" x=\"", x, "\" y=\"", y, "\">", text, "</text>\n");
}

std::string svg_frame(const std::string& description, int width, int height,
                      const std::string& body) {
  return str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"", width,
                 "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height, "\">\n<title>",
                 description, "</title>\n", kStyle,
                 "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>\n", body,
                 "</svg>\n");
}

void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& svg) {
  write_text(folder / name, svg);
  std::printf("wrote %s\n", (folder / name).c_str());
}

}  // namespace tessera::examples

#include "examples/course/drawing.h"

#include <utility>

#include "examples/course/svg.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

// The colours of tensor/kernels/pictures.
constexpr const char* kBoxes =
    "<style>\n"
    "svg{--dim:#59636e;--a:#fff1d6;--a-edge:#b35900;--b:#ddf0ff;--b-edge:#0860ca;"
    "--c:#dcf5e0;--c-edge:#177a34;--d:#f1e6ff;--d-edge:#7d3fc4}\n"
    "@media(prefers-color-scheme:dark){svg{--dim:#9198a1;--a:#3d2a0e;--a-edge:#f0b458;"
    "--b:#0f2d4d;--b-edge:#6cb6ff;--c:#12351d;--c-edge:#56d364;--d:#2f1d4a;--d-edge:#c297ff}}\n"
    ".s{font-size:12px;fill:var(--dim)}"
    ".a{fill:var(--a);stroke:var(--a-edge)}.b{fill:var(--b);stroke:var(--b-edge)}"
    ".c{fill:var(--c);stroke:var(--c-edge)}.d{fill:var(--d);stroke:var(--d-edge)}"
    ".p{fill:none;stroke:var(--ink);stroke-width:1.5;marker-end:url(#e)}\n"
    "</style>\n"
    "<defs><marker id=\"e\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" "
    "style=\"fill:var(--ink)\"/></marker></defs>\n";

}  // namespace

Drawing::Drawing(std::string title, int width, int height)
    : title_(std::move(title)), width_(width), height_(height) {}

void Drawing::box(double x, double y, double width, double height, const std::string& kind) {
  body_ += str_cat("<rect class=\"", kind, "\" x=\"", x, "\" y=\"", y, "\" width=\"", width,
                   "\" height=\"", height, "\"/>\n");
}

void Drawing::text(double x, double y, const std::string& text, const std::string& kind) {
  body_ += svg_text(x, y, text, kind);
}

void Drawing::arrow(double x, double y, double to_x, double to_y) {
  body_ += str_cat("<path class=\"p\" d=\"M", x, " ", y, "L", to_x, " ", to_y, "\"/>\n");
}

void Drawing::write(const std::filesystem::path& folder, const std::string& name) const {
  write_picture(folder, name, svg_frame(title_, width_, height_, kBoxes + body_));
}

}  // namespace tessera::examples

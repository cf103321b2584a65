#include "models/pages/profile_page.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "models/pages/detail/facts.h"
#include "models/pages/detail/numbers.h"
#include "models/pages/page.h"
#include "models/pages/rows.h"
#include "tensor/error.h"

namespace tessera::pages {

namespace {

/// "forward" before "backward", and "layers.2" before "layers.10".
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  }
};

/// A module or an op in a picture of modules inside each other.
struct Box {
  double self = 0;   // seconds
  double total = 0;  // with the boxes inside
  std::map<std::string, Box, ShorterFirst> inside = {};
};

/// The next part of a module's path, which is taken away: "layers.3" of "layers.3.self_attn".
std::string next_part(std::string_view& path) {
  std::size_t end = path.find('.');
  const bool has_number = end + 1 < path.size() && path[end + 1] >= '0' && path[end + 1] <= '9';
  if (end != std::string_view::npos && has_number) end = path.find('.', end + 1);
  const std::string part(path.substr(0, end));
  path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  return part;
}

void add(Box& all, const ProfileRow& row) {
  Box* box = &all.inside[row.is_backward ? "backward" : "forward"];
  all.total += row.self;
  box->total += row.self;
  const auto enter = [&](const std::string& name) {
    box = &box->inside[name];
    box->total += row.self;
  };
  for (std::string_view path = row.module; !path.empty();) enter(next_part(path));
  if (!row.op.empty()) enter(row.op);
  box->self += row.self;
}

/// The boxes inside `box`, as wide as their share of its time; those that nobody could see are left
/// out.
std::string boxes_html(const Box& box, double all) {
  constexpr double kLeastShare = 0.002;
  std::string html;
  for (const auto& [name, inner] : box.inside) {
    if (inner.total < kLeastShare * all) continue;
    const std::string share = decimals(inner.total / all * 100, 1);
    const std::string shown = escape(name);
    html += str_cat("<div class=\"box\" style=\"width:", decimals(inner.total / box.total * 100, 3),
                    "%\"><span title=\"", shown, ": ", share, " % of the time, ",
                    decimals(inner.total * 1e3, 2), " ms, ", decimals(inner.self * 1e3, 2),
                    " ms of it outside of the boxes below\">", shown, " ", share,
                    " %</span><div class=\"boxes\">", boxes_html(inner, all), "</div></div>\n");
  }
  return html;
}

/// A narrow screen shows the first columns: names, then times, then pass and calls.
Rows times_first(Rows rows) {
  const auto pass = std::ranges::find(rows[0], "pass") - rows[0].begin();
  for (auto& row : rows) {
    std::rotate(row.begin() + pass, row.begin() + pass + 2, row.begin() + pass + 5);
  }
  return rows;
}

}  // namespace

void write_profile_page(const std::filesystem::path& path, Profile& profile,
                        const std::string& title) {
  Box all;
  for (const ProfileRow& row : profile.rows(ProfileBy::kOp)) add(all, row);
  const MachineSpeed& machine = profile.machine();
  const std::string speed =
      str_cat("One thread of this machine reaches ", decimals(machine.flops * 1e-9, 1),
              " GFLOP/s and ", decimals(machine.bytes * 1e-9, 1), " GB/s.");
  const std::string body =
      "<main><h1>" + escape(title) + "</h1>\n<p>" + escape(profile.summary()) + ". " + speed +
      "</p>\n<h2>Modules and the ops in them</h2>\n"
      "<p class=\"muted\">A box is as wide as its time, of all threads; the "
      "space next to the boxes "
      "below it is its own time.</p>\n<div class=\"scroll\" "
      "tabindex=\"0\"><div class=\"boxes all\">" +
      boxes_html(all, all.total) + "</div></div>\n<h2>Tables</h2>\n" +
      table_html("Ops; * is any number. A column's name sorts by it.",
                 times_first(profile.cells(ProfileBy::kMergedOp))) +
      table_html("Modules", times_first(profile.cells(ProfileBy::kModule))) + "</main>";
  write_page(path,
             {.title = title,
              .body = body,
              .styles = {std::string(asset("wide_tables.css")), std::string(asset("profile.css"))},
              .scripts = {std::string(asset("profile.js"))}});
}

}  // namespace tessera::pages

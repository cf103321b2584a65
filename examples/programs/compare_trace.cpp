// Finds the first step in which two traces differ, and the difference.
//
//   run_encoder --weights encoder.safetensors ... --trace ours.txt
//   trace_encoder.py --weights encoder.safetensors ... --trace theirs.txt
//   compare_trace ours.txt theirs.txt
//
// Exit code 0: all numbers of all steps are within the tolerance, |a - b| <= atol + rtol |b|. 1:
// the traces differ. 2: they cannot be compared, because steps have different names or shapes.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>

#include "examples/programs/command.h"
#include "examples/programs/trace.h"
#include "tensor/error.h"

namespace {

using namespace tessera;

/// A number in two traces: |a - b| <= atol + rtol |b| is allowed.
struct Difference {
  std::size_t step = 0;
  std::string what;  // "mean", "first value 3"
  double a = 0;
  double b = 0;
  double by = 0;  // |a - b|, 0 if both are NaN or the same infinity
  double allowed = 0;

  bool parts() const { return by != 0 && !(by <= allowed); }
  /// Whether it is closer to the tolerance, or exceeds it more, than `other`.
  bool is_further_than(const Difference& other) const {
    if (parts() != other.parts()) return parts();
    return by * other.allowed > other.by * allowed || (by > other.by && allowed == other.allowed);
  }
};

struct Options {
  std::string a, b;
  double atol = 1e-5, rtol = 1e-5;
};

Difference difference(std::size_t step, std::string what, double a, double b, const Options& o) {
  const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
  return {.step = step,
          .what = std::move(what),
          .a = a,
          .b = b,
          .by = is_same ? 0 : std::abs(a - b),
          .allowed = o.atol + (std::isfinite(b) ? o.rtol * std::abs(b) : 0)};
}

/// The number of a step with the largest difference.
Difference furthest(std::size_t i, const examples::TraceStep& a, const examples::TraceStep& b,
                    const Options& o) {
  Difference most = difference(i, "mean", a.mean, b.mean, o);
  const auto look = [&](Difference next) {
    if (next.is_further_than(most)) most = std::move(next);
  };
  look(difference(i, "deviation", a.deviation, b.deviation, o));
  for (std::size_t n = 0; n < a.first.size(); ++n) {
    look(difference(i, "first value " + std::to_string(n), a.first[n], b.first[n], o));
  }
  return most;
}

/// The first step in which a number exceeds the tolerance, with the number that exceeds it most; if
/// there is none, the number of all steps that is closest to the tolerance.
/// **Errors**: steps of different names or shapes, before any that differs.
Difference compare(const examples::Trace& a, const examples::Trace& b, const Options& o) {
  Difference most = difference(0, "mean", a[0].mean, a[0].mean, o);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size()) {
      const bool a_ends = i >= a.size();
      fail_file(a_ends ? o.a : o.b, "step ", i + 1, ": must be ",
                printable((a_ends ? b : a)[i].name), " as in ", a_ends ? o.b : o.a,
                ", got the end of the file");
    }
    if (a[i].name != b[i].name) {
      fail_file(o.b, "step ", i + 1, ": must be ", printable(a[i].name), " as in ", o.a, ", got ",
                printable(b[i].name));
    }
    if (a[i].shape != b[i].shape || a[i].first.size() != b[i].first.size()) {
      fail_file(o.b, "step ", i + 1, ": ", printable(a[i].name), " must have the shape ",
                printable(a[i].shape), " and ", a[i].first.size(), " first values as in ", o.a,
                ", got ", printable(b[i].shape), " and ", b[i].first.size());
    }
    Difference next = furthest(i, a[i], b[i], o);
    if (next.parts()) return next;
    if (next.is_further_than(most)) most = std::move(next);
  }
  return most;
}

/// Whether the traces differ; prints the place.
bool compare_traces(const Options& o) {
  const examples::Trace a = examples::read_trace(o.a);
  const examples::Trace b = examples::read_trace(o.b);
  const Difference d = compare(a, b, o);
  const std::string& name = a[d.step].name;
  if (!d.parts()) {
    std::cout << a.size() << " steps agree; nearest to the tolerance is " << name << ", " << d.what
              << ": " << d.by << " apart of " << d.allowed << " allowed\n";
    return false;
  }
  std::cout << name << ": the traces differ here, at step " << d.step + 1 << " of " << a.size()
            << "\n  " << d.what << ": " << examples::trace_number(d.a) << " in " << o.a << ", "
            << examples::trace_number(d.b) << " in " << o.b << "\n  " << d.by << " apart, "
            << d.allowed << " allowed\n";
  if (d.step > 0) {
    std::cout << "  all steps before it agree, up to " << a[d.step - 1].name << '\n';
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("compare_trace",
                            "Finds the first step at which two traces of an encoder differ.");
  Options o;
  bool part = false;
  command.add_argument("A", o.a, "trace of run_encoder --trace or trace_encoder.py");
  command.add_argument("B", o.b, "trace to compare with");
  command.add("--atol", o.atol, "absolute tolerance", {0, 1e30});
  command.add("--rtol", o.rtol, "relative tolerance", {0, 1e30});
  const int status = command.run(argc, argv, [&] {
    require(!o.a.empty() && !o.b.empty(), "compare_trace", "A and B must be two traces, got ",
            o.a.empty() ? "none" : "one");
    part = compare_traces(o);
  });
  return status == 0 && part ? 1 : status;
}

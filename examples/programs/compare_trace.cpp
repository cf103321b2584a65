// Finds the first step at which two traces differ, and by how much.
//
//   run_encoder --weights encoder.safetensors ... --trace ours.txt
//   trace_encoder.py --weights encoder.safetensors ... --trace theirs.txt
//   compare_trace ours.txt theirs.txt
//
// Exit code 0: all numbers of all steps are within the tolerance, |a - b| <= atol + rtol |b|. 1: the
// traces differ. 2: they cannot be compared, because steps have different names or shapes.
#include <iostream>
#include <string>

#include "examples/programs/command.h"
#include "examples/programs/trace.h"
#include "tensor/error.h"

namespace {

using namespace tessera;

struct Options {
  std::string a, b;
  examples::Tolerance tolerance = {.atol = 1e-5, .rtol = 1e-5};
};

/// Whether the traces differ; prints where.
bool compare_traces(const Options& o) {
  const examples::Trace a = examples::read_trace(o.a);
  const examples::Trace b = examples::read_trace(o.b);
  const examples::TraceDifference d = examples::compare(o.a, a, o.b, b, o.tolerance);
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
  command.add("--atol", o.tolerance.atol, "absolute tolerance", {0, 1e30});
  command.add("--rtol", o.tolerance.rtol, "relative tolerance", {0, 1e30});
  const int status = command.run(argc, argv, [&] {
    require(!o.a.empty() && !o.b.empty(), "compare_trace", "A and B must be two traces, got ",
            o.a.empty() ? "none" : "one");
    part = compare_traces(o);
  });
  return status == 0 && part ? 1 : status;
}

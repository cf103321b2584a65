// The frame around a command line, which only those who know the library that parses it include.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>
#include <string>

#include "examples/console.h"
#include "examples/example.h"
#include "examples/processes_launch.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::examples {

/// Joins the processes that were started with this one, parses the command line and calls `body`;
/// what main() returns. An error is one line on standard error; `advice` follows what it says of
/// memory.
template <class Body>
int run_command_line(CLI::App& app, int argc, char** argv, const std::string& name,
                     const std::string& advice, const Body& body) {
  prepare_streams();
  std::optional<ProcessesScope> scope;
  try {
    scope.emplace();
    app.parse(argc, argv);
    current_isa();  // an unknown TESSERA_ISA is an error
    body();
    flush_output();
    return 0;
  } catch (const CLI::Success& done) {
    return app.exit(done);  // --help
  } catch (const std::exception&) {
    return report_failure(name, error_text(advice));
  }
}

}  // namespace tessera::examples

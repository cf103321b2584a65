// The frame around a command line. Only sources that use the parser's library include it.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>
#include <string>

#include "examples/course/example.h"
#include "examples/programs/console.h"
#include "examples/programs/processes_launch.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::examples {

/// The option's value as a text, its default if it is absent.
inline std::string text_of(const CLI::Option& option) {
  std::string text;
  for (const std::string& result : option.reduced_results())
    text += (text.empty() ? "" : " ") + result;
  if (text.empty()) text = option.get_default_str();
  if (text.empty()) text = option.get_expected_max() == 0 ? "false" : "-";
  return text;
}

/// All options except --help, by their names.
inline nn::NamedTexts options_of(const CLI::App& app) {
  nn::NamedTexts options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help") options.emplace_back(option->get_name(), text_of(*option));
  }
  return options;
}

/// Parses the command line; false if it asked for --help, which is printed. **Errors**: as
/// CLI::App::parse and flush_output.
inline bool parsed(CLI::App& app, int argc, char** argv) {
  try {
    app.get_help_ptr()->description("this help");
    app.parse(argc, argv);
    return true;
  } catch (const CLI::Success& done) {
    app.exit(done);
    flush_output();
    return false;
  }
}

/// Joins the processes that were started with this one, parses the command line and calls `body`;
/// what main() returns. An error is one line on standard error; `advice` is appended to errors of
/// memory.
template <class Body>
int run_command_line(CLI::App& app, int argc, char** argv, const std::string& name,
                     const std::string& advice, const Body& body) {
  prepare_streams();
  std::optional<ProcessesScope> scope;
  try {
    scope.emplace();
    if (!parsed(app, argc, argv)) return 0;
    current_isa();  // an unknown TESSERA_ISA is an error
    require_one_program(name, options_of(app));
    body();
    flush_output();
    return 0;
  } catch (const std::exception&) {
    return report_failure(name, error_text(advice));
  }
}

}  // namespace tessera::examples

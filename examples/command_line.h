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

/// The option's value as a text, its default where it is absent.
inline std::string text_of(const CLI::Option& option) {
  std::string text;
  for (const std::string& result : option.reduced_results())
    text += (text.empty() ? "" : " ") + result;
  if (text.empty()) text = option.get_default_str();
  if (text.empty()) text = option.get_expected_max() == 0 ? "false" : "-";
  return text;
}

/// All options but --help, by their names.
inline nn::NamedTexts options_of(const CLI::App& app) {
  nn::NamedTexts options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help") options.emplace_back(option->get_name(), text_of(*option));
  }
  return options;
}

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
    require_one_program(name, options_of(app));
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

// tessera_bench_report: results as a picture, and as tables in Markdown.
//
//   tessera_bench_report ours.json peers.json --json report.json --roofline-svg roofline.svg
//   tessera_bench_report report.json --readme README.md
#include <iostream>
#include <string>
#include <vector>

#include "bench/report/report.h"
#include "examples/programs/cli.h"
#include "tessera/tensor/io/file.h"

namespace {

using namespace tessera;

struct Outputs {
  std::string json, svg, readme;
};

/// The bytes of a file, so that its line ends stay as they are.
std::string bytes_of(const std::string& path) {
  const InputFile file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, bytes.data(), file.size());
  return bytes;
}

void write_report(const std::vector<std::string>& files, const Outputs& out) {
  std::vector<results::Results> parts;
  for (const std::string& file : files) parts.push_back(results::read_results(file));
  const std::string json = results::merged(parts);
  const results::Results all = results::parse_results(json, files.front());
  // All texts are made first: after an error no file is incomplete.
  const std::string svg = out.svg.empty() ? "" : results::roofline_svg(all);
  const std::string readme =
      out.readme.empty() ? "" : results::with_tables(bytes_of(out.readme), all, out.readme);
  if (!out.json.empty()) write_text(out.json, json);
  if (!svg.empty()) write_text(out.svg, svg);
  if (!readme.empty()) write_text(out.readme, readme);
  std::cout << all.cases.size() << " cases\n";
  for (const std::string* path : {&out.json, &out.svg, &out.readme}) {
    if (!path->empty()) std::cout << "wrote " << *path << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("tessera_bench_report",
                            "Makes a picture and the tables of READMEs from the JSON files that "
                            "tessera_bench and the scripts of other libraries write.");
  std::vector<std::string> files;
  Outputs out;
  command.add_arguments("FILES", files, "JSON files; the best time counts if a case is in several",
                        examples::kRequired);
  command.add_output("--json", out.json, "JSON file for all cases together");
  command.add_output("--roofline-svg", out.svg, "SVG file for the roofline");
  command.add_output("--readme", out.readme,
                     "Markdown file whose tables between markers are replaced");
  return command.run(argc, argv, [&] { write_report(files, out); });
}

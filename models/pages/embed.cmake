# cmake -DOUT=assets.cpp -DFILES=a.css,b.js -P embed.cmake: writes the source of pages::asset(), which
# gives these files' text by name. They stay files that an editor knows, and the programs need no folder.
set(rows "")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(FIND "${text}" ")asset\"" end)
  string(LENGTH "${text}" length)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} holds )asset\", which ends a raw string")
  elseif(length GREATER 60000)
    message(FATAL_ERROR "${file} has ${length} characters; compilers need to take no more than 65536")
  endif()
  string(APPEND rows "    {\"${name}\", R\"asset(${text})asset\"},\n")
endforeach()
file(WRITE ${OUT} "// Written by models/pages/embed.cmake.
#include <string_view>
#include <utility>

#include \"tessera/models/pages/page.h\"
#include \"tessera/tensor/error.h\"

namespace tessera::pages {

namespace {

constexpr std::pair<std::string_view, std::string_view> kAssets[] = {
${rows}};

}  // namespace

std::string_view asset(std::string_view name) {
  for (const auto& [known, text] : kAssets) {
    if (known == name) return text;
  }
  fail(\"asset\", \"name must be a file of models/pages/assets, got '\", name, \"'\");
}

}  // namespace tessera::pages
")

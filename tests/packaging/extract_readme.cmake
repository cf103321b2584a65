# Makes a project of the program that one README.md shows, and of what another says a CMakeLists.txt
# needs.
#   cmake -DPROGRAM=README.md -DLINES=README.md -DPROJECT=folder -P extract_readme.cmake

# first_block(file language variable): the text of the file's first block that opens with ```language.
function(first_block file language variable)
  file(READ ${file} readme)
  set(opening "\n```${language}\n")
  string(FIND "${readme}" "${opening}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${file} has no block of ${language}")
  endif()
  string(LENGTH "${opening}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${readme}" ${begin} -1 block)
  string(FIND "${block}" "\n```" end)
  string(SUBSTRING "${block}" 0 ${end} block)
  set(${variable} "${block}\n" PARENT_SCOPE)
endfunction()

first_block(${PROGRAM} cpp program)
first_block(${LINES} cmake lines)
# CONFIGURE, unlike WRITE, leaves a file that stays the same alone, so that it is not built again.
file(CONFIGURE OUTPUT ${PROJECT}/app.cpp CONTENT "${program}" @ONLY)
file(CONFIGURE OUTPUT ${PROJECT}/CMakeLists.txt @ONLY CONTENT
"cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
add_executable(app app.cpp)
${lines}")

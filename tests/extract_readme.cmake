# Makes a project of what README.md shows: its program, and what it says a CMakeLists.txt needs.
#   cmake -DREADME=README.md -DPROJECT=folder -P extract_readme.cmake
file(READ ${README} readme)

# first_block(language variable): the text of the first block that opens with ```language.
function(first_block language variable)
  set(opening "\n```${language}\n")
  string(FIND "${readme}" "${opening}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${README} has no block of ${language}")
  endif()
  string(LENGTH "${opening}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${readme}" ${begin} -1 block)
  string(FIND "${block}" "\n```" end)
  string(SUBSTRING "${block}" 0 ${end} block)
  set(${variable} "${block}\n" PARENT_SCOPE)
endfunction()

first_block(cpp program)
first_block(cmake lines)
# CONFIGURE, unlike WRITE, leaves a file that stays the same alone, so that it is not built again.
file(CONFIGURE OUTPUT ${PROJECT}/app.cpp CONTENT "${program}" @ONLY)
file(CONFIGURE OUTPUT ${PROJECT}/CMakeLists.txt @ONLY CONTENT
"cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
add_executable(app app.cpp)
${lines}")

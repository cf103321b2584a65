# Makes a project of the program that one README.md shows, and of what another says a CMakeLists.txt
# needs.
#   cmake -DPROGRAM=README.md -DBLOCK=1 -DLINES=README.md -DPROJECT=folder -P extract_readme.cmake

# find_block(file language number variable): the text of the file's first, second, ... block that opens
# with ```language.
function(find_block file language number variable)
  file(READ ${file} block)
  set(opening "\n```${language}\n")
  string(LENGTH "${opening}" length)
  foreach(i RANGE 1 ${number})
    string(FIND "${block}" "${opening}" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "${file} has no block ${i} of ${language}")
    endif()
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${block}" ${begin} -1 block)
  endforeach()
  string(FIND "${block}" "\n```" end)
  string(SUBSTRING "${block}" 0 ${end} block)
  set(${variable} "${block}\n" PARENT_SCOPE)
endfunction()

if(NOT BLOCK)
  set(BLOCK 1)
endif()
find_block(${PROGRAM} cpp ${BLOCK} program)
find_block(${LINES} cmake 1 lines)
# CONFIGURE, unlike WRITE, leaves a file that stays the same alone, so that it is not built again.
file(CONFIGURE OUTPUT ${PROJECT}/app.cpp CONTENT "${program}" @ONLY)
file(CONFIGURE OUTPUT ${PROJECT}/CMakeLists.txt @ONLY CONTENT
"cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
add_executable(app app.cpp)
${lines}")

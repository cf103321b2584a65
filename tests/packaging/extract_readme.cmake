# Makes a project of the first program and the CMakeLists.txt that a page shows.
#   cmake -DPAGE=README.md -DPROJECT=folder -P extract_readme.cmake

# find_block(language variable): the text of the page's first block that opens with ```language.
function(find_block language variable)
  file(READ ${PAGE} block)
  set(opening "\n```${language}\n")
  string(LENGTH "${opening}" length)
  string(FIND "${block}" "${opening}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${PAGE} has no block of ${language}")
  endif()
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${block}" ${begin} -1 block)
  string(FIND "${block}" "\n```" end)
  string(SUBSTRING "${block}" 0 ${end} block)
  set(${variable} "${block}\n" PARENT_SCOPE)
endfunction()

find_block(cpp program)
find_block(cmake lines)
# CONFIGURE, unlike WRITE, does not touch a file that stays the same, so that it is not built again.
file(CONFIGURE OUTPUT ${PROJECT}/main.cpp CONTENT "${program}" @ONLY)
file(CONFIGURE OUTPUT ${PROJECT}/CMakeLists.txt CONTENT "${lines}" @ONLY)

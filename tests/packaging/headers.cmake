# The headers installed in the folder INCLUDE include only what is installed too, and each compiles
# alone. Most need no compiler for that: the file in SOURCE that implements a header includes it first,
# so it has been compiled alone there.
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/*.h)
list(LENGTH headers count)
if(count LESS 40)
  message(FATAL_ERROR "only ${count} headers in ${INCLUDE}")
endif()
set(rest "")
foreach(header IN LISTS headers)
  file(STRINGS ${INCLUDE}/${header} includes REGEX "^#include \"")
  foreach(include IN LISTS includes)
    string(REGEX MATCH "[^\"]+\\.h" included "${include}")
    if(NOT EXISTS ${INCLUDE}/../${included})
      message(SEND_ERROR "${header} includes ${included}, which is not installed")
    endif()
  endforeach()

  string(REGEX REPLACE "\\.h$" ".cpp" implementation ${SOURCE}/${header})
  set(first "")
  if(EXISTS ${implementation})
    file(STRINGS ${implementation} first LIMIT_COUNT 1 REGEX "^#include ")
  endif()
  if(NOT first STREQUAL "#include \"tessera/${header}\"")
    string(APPEND rest "${header}\n")
  endif()
endforeach()

set(list ${CMAKE_CURRENT_BINARY_DIR}/headers.txt)
file(WRITE ${list} "${rest}")
execute_process(
  COMMAND xargs -a ${list} -P 2 -I {}
    ${CXX} -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I . -include tessera/{} -x c++ /dev/null
  WORKING_DIRECTORY ${INCLUDE}/..
  COMMAND_ERROR_IS_FATAL ANY)

# What must not compile does not, and for the reason that is said: the compiler's output names each
# line of FILE that ends in `// misuse: text` and has this text, and there are as many errors as such lines.
#   cmake -DCOMPILER=c++ -DINCLUDE=build/include -DFILE=misuse.cpp -P misuse_test.cmake
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER}
                        -fsyntax-only -std=c++20 -w -I${INCLUDE} ${FILE}
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles")
endif()

get_filename_component(name ${FILE} NAME)
file(READ ${FILE} text)
string(REPLACE ";" "" text "${text}")
string(REPLACE "\n" ";" lines "${text}")
set(number 0)
set(marks 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(NOT line MATCHES "// misuse: (.+)$")
    continue()
  endif()
  set(wanted "${CMAKE_MATCH_1}")
  math(EXPR marks "${marks} + 1")
  string(FIND "${output}" "${name}:${number}:" place)
  string(FIND "${output}" "${wanted}" reason)
  if(place EQUAL -1 OR reason EQUAL -1)
    message(FATAL_ERROR "${name}:${number}: no error that says '${wanted}', but\n${output}")
  endif()
endforeach()

string(REGEX MATCHALL " error: " errors "${output}")
list(LENGTH errors count)
if(marks EQUAL 0 OR NOT count EQUAL marks)
  message(FATAL_ERROR "${count} errors for ${marks} marks:\n${output}")
endif()

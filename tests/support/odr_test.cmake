# Every symbol that the object files OBJECTS (kernels/isa/<isa>.cpp.o) offer to the linker must live
# in the namespace tessera::kernels::<isa>. Anything else, an inline function of the standard
# library for example, could be the one copy of it that the linker keeps for the whole program: code
# for AVX-512 that then runs on a processor without it.
if(NOT OBJECTS)
  message(FATAL_ERROR "no object files to look at")
endif()
foreach(object IN LISTS OBJECTS)
  get_filename_component(isa ${object} NAME_WE)
  string(LENGTH ${isa} length)
  # Mangled: functions and variables, const members, and what belongs to them (guard variables,
  # static locals, type information, the address sanitizer's mark of a variable).
  set(own "(__odr_asan[.])?_Z(GV|TV|TT|TI|TS|GR|Z)*NK?7tessera7kernels${length}${isa}")

  execute_process(COMMAND ${NM} --extern-only --defined-only --format=posix ${object}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  set(seen 0)
  foreach(line IN LISTS symbols)
    string(REGEX MATCH "^[^ ]+" symbol "${line}")
    if(symbol MATCHES "^${own}")
      math(EXPR seen "${seen} + 1")
    else()
      message(SEND_ERROR "${isa}: ${line}\nis outside tessera::kernels::${isa} (c++filt reads the name)")
    endif()
  endforeach()
  if(seen EQUAL 0)
    message(SEND_ERROR "${object} has no symbol of tessera::kernels::${isa}: is this the right file?")
  endif()
  message(STATUS "${isa}: ${seen} symbols of its own")
endforeach()

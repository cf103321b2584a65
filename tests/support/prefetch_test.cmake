# The object files OBJECTS (kernels/isa/<isa>.cpp.o) must hold the prefetches that the kernels ask
# for. A function that does nothing else has no effect that the compiler knows of: GCC drops calls
# of it, unless they are inlined, and nothing but the speed tells. Of some 1390 in the AVX2 object
# GCC 12 had left 142; Clang 14, which drops none, makes 874. So this sees when most of them go, not
# when one does. LISTING is a file to write to.
if(NOT OBJECTS)
  message(FATAL_ERROR "no object files to look at")
endif()
foreach(object IN LISTS OBJECTS)
  get_filename_component(isa ${object} NAME_WE)
  execute_process(COMMAND ${OBJDUMP} --disassemble --no-show-raw-insn ${object}
                  OUTPUT_FILE ${LISTING} COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${LISTING} prefetches REGEX "[ \t](prefetch|prfm)")
  list(LENGTH prefetches count)
  if(count LESS 500)
    message(SEND_ERROR "${isa}: ${count} prefetches. "
                       "Is each function that only prefetches always inlined?")
  endif()
  message(STATUS "${isa}: ${count} prefetches")
endforeach()
file(REMOVE ${LISTING})

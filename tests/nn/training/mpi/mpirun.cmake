# mpi_test on 1, 2 and 3 processes, which may be more than the cores; and processes that are lost.
if(NOT TARGET tessera::mpi OR NOT MPIEXEC_EXECUTABLE OR sanitized)
  add_test(NAME mpi COMMAND ${CMAKE_COMMAND} -E echo "skipped: no MPI in this build")
  set_tests_properties(mpi PROPERTIES LABELS ci SKIP_REGULAR_EXPRESSION skipped)
  return()
endif()

# As root, in a container, with more processes than cores and without a network: Open MPI must be told that
# all are meant.
set(mpi_environment
  OMPI_MCA_btl=^tcp
  OMP_WAIT_POLICY=passive
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
  OMPI_MCA_btl_vader_single_copy_mechanism=none)

# mpi_test(name processes command...)
function(mpi_test name processes)
  add_test(NAME mpi.${name} COMMAND ${ARGN})
  set_tests_properties(mpi.${name} PROPERTIES
    LABELS ci ENVIRONMENT "${mpi_environment}" TIMEOUT 60 PROCESSORS ${processes} RESOURCE_LOCK mpirun)
endfunction()

tessera_test(mpi LIBRARY mpi FILES training/mpi/mpi)
foreach(processes IN ITEMS 1 2 3)
  mpi_test(${processes} ${processes}
    ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${processes} $<TARGET_FILE:mpi_test> --gtest_brief=1)
endforeach()

add_executable(lost_process training/mpi/lost_process.cpp)
set_target_properties(lost_process PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(lost_process PRIVATE tessera::mpi)
tessera_target(lost_process)
foreach(how IN ITEMS killed thrown error left twice foreign)
  mpi_test(${how} 1  # mostly asleep
    ${CMAKE_COMMAND} -DHOW=${how} -DMPIEXEC=${MPIEXEC_EXECUTABLE} -DFLAG=${MPIEXEC_NUMPROC_FLAG}
    -DPROGRAM=$<TARGET_FILE:lost_process> -P ${CMAKE_CURRENT_SOURCE_DIR}/training/mpi/lost_process.cmake)
endforeach()

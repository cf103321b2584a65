# Runs lost_process with MPIEXEC, whose rank 1 is lost as HOW says: all end within 20 s, not with
# success, and the error is printed.
set(command ${MPIEXEC} ${FLAG} 3 ${PROGRAM} ${HOW})
set(said "rank 1|CLEANING UP REMAINING PROCESSES")  # by the launcher
if(HOW STREQUAL "thrown")
  set(said "rank 1 leaves its session with an exception, which ends all processes")
elseif(HOW STREQUAL "error")
  set(said "rank 1 found an error")
elseif(HOW STREQUAL "left")  # who says it first ends all
  set(said "got the end of rank [12]|rank [12] cannot end its session: rank 0 must end its session")
elseif(HOW STREQUAL "twice")  # no process is lost, but MPI ends with the first session
  set(said "mpi::Session: MPI must be started once per process, got a second start")
elseif(HOW STREQUAL "foreign")  # a launcher of another MPI: this one sees a single process
  set(ENV{PMI_SIZE} 3)
  set(command ${PROGRAM} none)
  set(said "mpi::Session: MPI must see all 3 processes that were started, got 1")
endif()
execute_process(COMMAND ${command} TIMEOUT 20
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR status MATCHES "timeout")
  message(SEND_ERROR "ended with ${status}")
endif()
if(NOT output MATCHES "${said}")
  message(SEND_ERROR "no process prints ${said}")
endif()
message(STATUS "${status}:\n${output}")

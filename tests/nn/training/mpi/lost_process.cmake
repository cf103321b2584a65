# Runs lost_process with MPIEXEC, whose rank 1 is lost as HOW says: all end within 20 s, not with
# success, and the others say what they have lost.
set(command ${MPIEXEC} ${FLAG} 3 ${PROGRAM} ${HOW})
set(said "<0: rank 1 has ended>" "<2: rank 1 has ended>")
if(HOW STREQUAL "ended")
  set(said "rank [02] cannot end its session: rank 1 has ended")
elseif(HOW STREQUAL "thrown")
  set(said "rank 1 leaves its session with an exception, which ends all processes")
elseif(HOW STREQUAL "left")  # who says it first ends all
  set(said "rank 1 has ended its session, but this|rank 1 cannot end its session: rank [02] must end its session")
elseif(HOW STREQUAL "left_unanswered")
  set(said "<0: rank 1 has ended its session" "<2: rank 1 has ended its session")
elseif(HOW STREQUAL "foreign")  # a launcher of another MPI: this one sees a single process
  set(ENV{PMI_SIZE} 3)
  set(command ${PROGRAM} none)
  set(said "<mpi::Session: MPI must see all 3 processes that were started, got 1")
endif()
execute_process(COMMAND ${MPIEXEC} --version OUTPUT_VARIABLE version ERROR_QUIET)
if(version MATCHES "HYDRA" AND HOW MATCHES "killed|ended")
  set(said "CLEANING UP REMAINING PROCESSES")  # it leaves them no time
endif()
execute_process(COMMAND ${command} TIMEOUT 20
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR status MATCHES "timeout")
  message(SEND_ERROR "ended with ${status}")
endif()
foreach(text IN LISTS said)
  if(NOT output MATCHES "${text}")
    message(SEND_ERROR "nobody says ${text}")
  endif()
endforeach()
message(STATUS "${status}:\n${output}")

# Builds the project in consumer/ both ways: against an installation of this build, and with this
# source tree as a subdirectory.
set(consumer ${CMAKE_CURRENT_BINARY_DIR}/consumer)

# consumer_test(name option...): configure it with the options, build and run it.
function(consumer_test name)
  add_test(NAME consumer.${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/consumer ${consumer}/${name}
    --build-generator ${CMAKE_GENERATOR}
    --build-makeprogram ${CMAKE_MAKE_PROGRAM}
    --build-target consumer
    --build-noclean
    --build-options
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
      ${ARGN}
    --test-command consumer)
  set_tests_properties(consumer.${name} PROPERTIES ENVIRONMENT MAKEFLAGS=-j2)
endfunction()

if(TESSERA_INSTALL)
  add_test(NAME consumer.install COMMAND ${CMAKE_COMMAND}
           --install ${PROJECT_BINARY_DIR} --prefix ${consumer}/prefix)
  set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installation)
  consumer_test(find_package
    -DCMAKE_PREFIX_PATH=${consumer}/prefix
    -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
    -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS})
  set_tests_properties(consumer.find_package PROPERTIES FIXTURES_REQUIRED installation)
endif()

# Without OpenMP, which no other test leaves out; and not optimised, which compiles fast.
consumer_test(add_subdirectory
  -DTESSERA_SOURCE=${PROJECT_SOURCE_DIR}
  -DTESSERA_OPENMP=OFF
  -DTESSERA_WERROR=${TESSERA_WERROR}
  "-DTESSERA_KERNEL_FLAGS=-O0$<SEMICOLON>-ffp-contract=fast"
  -DCMAKE_CXX_FLAGS=-O0)

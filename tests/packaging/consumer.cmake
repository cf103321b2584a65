# Outside projects that use this library: the one in consumer/, both against an installation of this
# build and with this source tree as a subdirectory; and those that README.md and examples/README.md show, as installed.
set(consumer ${CMAKE_CURRENT_BINARY_DIR}/consumer)
if(CMAKE_CROSSCOMPILING)
  set(target_system -DCMAKE_SYSTEM_NAME=${CMAKE_SYSTEM_NAME}
                    -DCMAKE_SYSTEM_PROCESSOR=${CMAKE_SYSTEM_PROCESSOR})
endif()

# consumer_test(name source program option...): configure the project in the folder `source` with
# the options, build its program and run it.
function(consumer_test name source program)
  add_test(NAME consumer.${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${source} ${consumer}/${name}
    --build-generator ${CMAKE_GENERATOR}
    --build-makeprogram ${CMAKE_MAKE_PROGRAM}
    --build-target ${program}
    --build-noclean
    --build-options
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
      ${target_system}
      ${ARGN}
    --test-command ${CMAKE_CROSSCOMPILING_EMULATOR} ${consumer}/${name}/${program})
  set_tests_properties(consumer.${name} PROPERTIES ENVIRONMENT MAKEFLAGS=-j2)
endfunction()

if(TESSERA_INSTALL)
  add_test(NAME consumer.install COMMAND ${CMAKE_COMMAND}
           --install ${PROJECT_BINARY_DIR} --prefix ${consumer}/prefix)
  set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installation)
  set(installed
    -DCMAKE_PREFIX_PATH=${consumer}/prefix
    -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
    -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS})
  consumer_test(find_package ${CMAKE_CURRENT_SOURCE_DIR}/packaging/consumer consumer ${installed})
  set_tests_properties(consumer.find_package PROPERTIES FIXTURES_REQUIRED installation)

  # readme_test(name readme): the program in that README.md works in a project of its own.
  function(readme_test name readme)
    add_test(NAME consumer.extract_${name} COMMAND ${CMAKE_COMMAND}
             -DPROGRAM=${readme} -DLINES=${PROJECT_SOURCE_DIR}/README.md
             -DPROJECT=${consumer}/${name}_source
             -P ${CMAKE_CURRENT_SOURCE_DIR}/packaging/extract_readme.cmake)
    set_tests_properties(consumer.extract_${name} PROPERTIES FIXTURES_SETUP ${name})
    consumer_test(${name} ${consumer}/${name}_source app ${installed})
    set_tests_properties(consumer.${name} PROPERTIES FIXTURES_REQUIRED "installation;${name}")
  endfunction()
  readme_test(readme ${PROJECT_SOURCE_DIR}/README.md)
  readme_test(examples_readme ${PROJECT_SOURCE_DIR}/examples/README.md)
endif()

# Without OpenMP, which no other test leaves out; and not optimised, which compiles fast.
consumer_test(add_subdirectory ${CMAKE_CURRENT_SOURCE_DIR}/packaging/consumer consumer
  -DTESSERA_SOURCE=${PROJECT_SOURCE_DIR}
  -DTESSERA_OPENMP=OFF
  -DTESSERA_WERROR=${TESSERA_WERROR}
  -DTESSERA_KERNEL_OPTIMIZATION=-O0
  -DCMAKE_CXX_FLAGS=-O0)

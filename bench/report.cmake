# cmake -DBENCH=tessera_bench -DREPORT=tessera_bench_report -DOUT=folder [-DCBLAS=library]
#       [-DONEDNN=ON] [-DSECONDS=0.2] -P report.cmake
#
# Measures on all threads and on one, and writes report.md, report.json and roofline.svg. Other
# libraries run next to ours if they are given.
set(peers "")
if(CBLAS)
  list(APPEND peers --cblas ${CBLAS})
endif()
if(ONEDNN)
  list(APPEND peers --onednn)
endif()
if(NOT SECONDS)
  set(SECONDS 0.1)
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(kinds "matmul|linear|softmax|layer_norm|attention|attention_unfused|encoder")
run(${BENCH} --seconds ${SECONDS} ${peers} --json ${OUT}/all_threads.json
    --filter "^(${kinds})/|^train/L:[24]/|_ladder/")
run(${BENCH} --threads 1 --seconds ${SECONDS} --json ${OUT}/one_thread.json
    --filter "^(matmul/M:1024/|linear/M:128/|attention/B:1/H:12/T:512/|softmax/|encoder/.*B:8/)|_ladder/")

# ONNX Runtime and PyTorch on the same cases. Where one is missing, its script says so and writes nothing.
find_program(NODE NAMES node nodejs)
find_program(PYTHON NAMES python3)
set(theirs "")
foreach(ours all_threads one_thread)
  foreach(script "${NODE};ort.js" "${PYTHON};torch_cases.py")
    list(GET script 0 program)
    list(GET script 1 file)
    set(json ${OUT}/${ours}.${file}.json)
    file(REMOVE ${json})
    if(program)
      run(${program} ${CMAKE_CURRENT_LIST_DIR}/peers/${file} --like ${OUT}/${ours}.json
          --seconds ${SECONDS} --json ${json})
    endif()
    if(EXISTS ${json})
      list(APPEND theirs ${json})
    endif()
  endforeach()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/report.md.in ${OUT}/report.md COPYONLY)
run(${REPORT} ${OUT}/all_threads.json ${OUT}/one_thread.json ${theirs} --readme ${OUT}/report.md
    --json ${OUT}/report.json --roofline-svg ${OUT}/roofline.svg)

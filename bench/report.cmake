# cmake -DBENCH=tessera_bench -DREPORT=tessera_bench_report -DOUT=folder [-DCBLAS=library]
#       [-DONEDNN=ON] [-DSECONDS=0.2] -P report.cmake
#
# Measures on all threads and on one, and writes report.html, report.json and roofline.svg. Other
# libraries run beside ours where they are given.
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

set(kinds "matmul|linear|softmax|layer_norm|attention|attention_fused|attention_unfused|encoder")
run(${BENCH} --seconds ${SECONDS} ${peers} --json ${OUT}/all_threads.json
    --filter "^(${kinds}|linear_width)/|^train/L:[24]/|_ladder/")
run(${BENCH} --threads 1 --seconds ${SECONDS} --json ${OUT}/one_thread.json
    --filter "^(matmul/M:1024/|linear/M:128/|attention/B:1/H:12/T:512/|softmax/|encoder/.*B:8/)|_ladder/")
run(${REPORT} ${OUT}/all_threads.json ${OUT}/one_thread.json --html ${OUT}/report.html
    --json ${OUT}/report.json --roofline-svg ${OUT}/roofline.svg)

# tandem_lit_test(NAME): the lit tests of the calling directory as one ctest,
# `lit_NAME`. They are built when the tools that they run are.
find_program(LIT NAMES lit llvm-lit lit-22 HINTS ${LLVM_TOOLS_BINARY_DIR})
find_program(FILECHECK NAMES FileCheck FileCheck-22
             HINTS ${LLVM_TOOLS_BINARY_DIR})
configure_file(${CMAKE_SOURCE_DIR}/test/lit.site.cfg.py.in
               ${CMAKE_BINARY_DIR}/test/lit.site.cfg.py @ONLY)

function(tandem_lit_test name)
  if(NOT LIT OR NOT FILECHECK)
    message(WARNING "lit or FileCheck of LLVM is missing: no test lit_${name}")
    return()
  endif()
  add_test(NAME lit_${name}
           COMMAND ${LIT} -v ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

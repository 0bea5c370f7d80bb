# Torch's headers and the libraries that the extension is linked with: no more than these, so that one extension works beside the
# CPU and the CUDA build of torch.
#
# Gives the target torch_headers (for compiling), the target torch_libraries (for linking), and TORCH_VERSION.

execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_torch.py
                OUTPUT_VARIABLE found ERROR_VARIABLE sentence RESULT_VARIABLE failed ERROR_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "${sentence}")
endif()
list(GET found 0 TORCH_ROOT)
list(GET found 1 TORCH_VERSION)
list(GET found 2 TORCH_NEW_ABI)
message(STATUS "Torch ${TORCH_VERSION} in ${TORCH_ROOT}")

add_library(torch_headers INTERFACE)
target_include_directories(torch_headers SYSTEM INTERFACE ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)

add_library(torch_libraries INTERFACE)
foreach(library torch_python torch torch_cpu c10)
  target_link_libraries(torch_libraries INTERFACE ${TORCH_ROOT}/lib/lib${library}.so)
endforeach()

# Installs into an empty prefix and runs the installed program, away from the source tree.
#   cmake -DBUILD_DIR=... -DPREFIX=... -P install_test.cmake
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(file bin/uvmsim lib/uvmsim/libuvmsim_simgrid.so share/uvmsim/configs/v100_dgx1.json share/uvmsim/configs/machines/dgx1_v100_32gb.json
             share/doc/uvmsim/README.md share/doc/uvmsim/sim/trace/FORMAT.md
             share/doc/uvmsim/sim/report/RESULT.md share/doc/uvmsim/sim/study/SWEEP.md share/man/man1/uvmsim.1
             share/uvmsim/python/uvmsim/torch_recorder.py share/uvmsim/python/uvmcap_torch.py)
  if(NOT EXISTS ${PREFIX}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
execute_process(
  COMMAND ${PREFIX}/bin/uvmsim run ${CONFIG} --no-in-core --json
  WORKING_DIRECTORY ${PREFIX}
  OUTPUT_VARIABLE json
  COMMAND_ERROR_IS_FATAL ANY)
string(JSON outcome GET "${json}" outcome)
if(NOT outcome STREQUAL "completed")
  message(FATAL_ERROR "outcome ${outcome}")
endif()

# Cases find the traces that they run.
execute_process(
  COMMAND ${PREFIX}/bin/uvmsim validate ${PREFIX}/share/uvmsim/validation/cases/h100_vm_networks.json
          ${PREFIX}/share/uvmsim/validation/cases/sobel_v100.json --known-gaps --quiet
  WORKING_DIRECTORY ${PREFIX}
  OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)

# An installation that is not whole says so.
file(RENAME ${PREFIX}/lib/uvmsim/libuvmsim_simgrid.so ${PREFIX}/elsewhere.so)
foreach(verb doctor "run;${CONFIG}")
  execute_process(COMMAND ${PREFIX}/bin/uvmsim ${verb} WORKING_DIRECTORY ${PREFIX} RESULT_VARIABLE status
                  OUTPUT_QUIET ERROR_VARIABLE said)
  if(status EQUAL 0 OR NOT said MATCHES "cannot open SimGrid: libuvmsim_simgrid.so")
    message(FATAL_ERROR "${verb} without libuvmsim_simgrid.so: ${status}, ${said}")
  endif()
endforeach()

// The test program's main: one embedded interpreter for all C++ tests, of the environment that has torch.
//
// Which interpreter's packages are used: $MINIDYNAMO_PYTHON (path of a python executable), else the active virtual
// environment's, else what the linked libpython finds by itself. Tests that need torch skip themselves where it cannot
// be imported.
#include <Python.h>

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else  // Catch2 2.x: the runner is compiled here, into the one file that asks for it
#define CATCH_CONFIG_RUNNER
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms in <regex> under sanitizers
#endif
#include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string python_executable() {
  if (const char* named = std::getenv("MINIDYNAMO_PYTHON")) return named;
  if (const char* environment = std::getenv("VIRTUAL_ENV")) return std::string(environment) + "/bin/python";
  return "";
}

bool start_python() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0;
  PyStatus status = PyStatus_Ok();
  const std::string executable = python_executable();
  if (!executable.empty()) status = PyConfig_SetBytesString(&config, &config.program_name, executable.c_str());
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (!PyStatus_Exception(status)) return true;
  std::fprintf(stderr, "cannot start Python: %s\n", status.err_msg ? status.err_msg : "unknown reason");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (!start_python()) return 2;
  int result = Catch::Session().run(argc, argv);
  // An error that a test left set would be reported far from its cause.
  if (PyErr_Occurred()) {
    std::fprintf(stderr, "a test left a Python error set:\n");
    PyErr_Print();
    if (result == 0) result = 1;
  }
  if (Py_FinalizeEx() < 0 && result == 0) result = 1;
  return result;
}

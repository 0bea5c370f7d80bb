// Tells a backend that compiles by pieces how a captured graph can be divided (graph/pieces.h).
#pragma once
#include <string>

#include "plan/exit.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Sets meta["regions"] of the exported graph, a text for people, and meta["pieces"], the program, if there is one.
// False with a Python error set.
bool announce_pieces(PyObject* graph_module, const Tracer& tracer, const Exit& exit, const std::string& name);

}  // namespace minidynamo

"""The Python side of a capture: its settings, the graph and its source, the guard filter, the surroundings of a compiler."""

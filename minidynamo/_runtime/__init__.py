"""Python code that graphs, residual code and traces call by names that csrc/ has as strings (tests/python/api/test_imported_names.py)."""

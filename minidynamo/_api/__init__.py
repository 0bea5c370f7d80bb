"""The calls of users: capturing functions and modules, rules for functions and files, global capture, the environment."""

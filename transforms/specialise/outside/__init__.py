"""Arguments and objects from outside: reading them, guards on them, effects on them."""

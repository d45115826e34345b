"""Arrays, lists and their versions: the heap of the program that is specialised."""

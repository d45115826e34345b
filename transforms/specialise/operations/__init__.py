"""What operators, attributes, subscripts and iteration do with each kind of value."""

"""Operations of NumPy on arrays: calls of surfaces, and subscripts."""

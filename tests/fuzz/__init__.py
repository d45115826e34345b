"""Random programs: generated, judged against plain Python and finite differences, shrunk.

python -m tests.fuzz --n 2000 --seed 0
"""

"""Random programs: generated, judged against plain Python and in every mode, shrunk.

make fuzz N=10000
python -m tests.fuzz --n 2000 --seed 0
"""

"""Fuzz tests: random programs, compared with plain Python in every mode; failing programs are
reduced.

make fuzz N=10000
python -m tests.fuzz --n 2000 --seed 0
"""

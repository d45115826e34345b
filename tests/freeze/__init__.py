"""A check that a change does not alter emitted source, lowered source or object code.

`programs.py` lists the programs: every case of the corpus in two precisions, the benchmark rows and
the examples.  `record.py` runs one and hashes the emitted source, the lowered source and, on
request, the object code.  Hashes of text are stored in `texts.json`; object code depends on the
machine and is only compared between two trees.

    make freeze                                   compare the texts with texts.json
    make ARGS=--update freeze                     after an intended change of the texts
    make ARGS="--objects before.json" freeze      in one tree, then in another
    python -m tests.freeze --compare before.json after.json
"""

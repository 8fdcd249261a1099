"""Hostile inputs against the library, the app and the server: what they cost, what is said, and what another visitor feels.

`case.py` says what a case is and when it holds; `inputs.py`, `folders.py` and `archives.py` make the inputs; `library.py`, `pages.py` and
`server.py` list the cases; `served.py` and `guests.py` serve and visit; `watch.py` limits memory and time; `fuzz.py` draws inputs with
Hypothesis.
"""

"""Entropy Sentinel: a language model's accuracy per domain, estimated from its log-probabilities.

Rooms, by floor; a module imports from its own floor and those below (`tests/test_floors.py` walks the imports). A
room's `settings.py` and `catalogue.py` are declarations: light, on the ground floor, open to all.

0. `frames`        what stages agree on: contracts, errors
1. `sources`, `chat`, `features`, `statistics`, `report`
2. `engines`, `judges`, `estimators`
3. `config`, `jobs`
4. `stages`        one module per stage of the pipeline
5. `analyses`      what is read off the stages' files, one folder per question
6. `commands`      the command line
"""

__version__ = "0.1.0"

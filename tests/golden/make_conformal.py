"""Write conformal.json: intervals of crepes' normalised conformal regressor, for tests/statistics/test_conformal.py.

In an environment of its own: `pip install crepes==0.9.1 scikit-learn`. Levels are such that crepes rounds their rank as
it is meant: at 0.8 with four scores it computes int(0.999...) and gives no interval, though the largest score is one.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from crepes import ConformalRegressor

LEVELS, ESTIMATES, DIFFICULTIES = (0.55, 0.72, 0.83, 0.91, 0.96), [0.3, 0.62], [0.11, 0.15]


def main() -> None:
    """Random residuals with difficulties, and the intervals around two estimates at each level that is possible."""
    rng = np.random.default_rng(7)
    cases = []
    for k in (4, 9, 19, 30):
        residuals, difficulties = np.round(rng.normal(0, 0.1, k), 4), np.round(rng.uniform(0.1, 0.2, k), 4)
        regressor = ConformalRegressor().fit(residuals=residuals, sigmas=difficulties)
        for level in (level for level in LEVELS if level < k / (k + 1)):
            result = regressor.predict_int(np.array(ESTIMATES), sigmas=np.array(DIFFICULTIES), confidence=level)
            case = {"residuals": residuals.tolist(), "difficulties": difficulties.tolist(), "level": level}
            cases.append(case | {"intervals": result.tolist()})
    message = {"crepes": version("crepes"), "estimates": ESTIMATES, "difficulties": DIFFICULTIES, "cases": cases}
    Path(__file__).with_name("conformal.json").write_text(json.dumps(message, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Settings of noisy gradient descent: those of which the best is kept, and the fixed one."""

from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Descent:
    """Steps over all records, their length, and the length to which a gradient is clipped."""

    steps: int
    rate: float
    clip: float


NOISY_DESCENTS = {
    f"noisy_gd_steps{steps}_rate{rate:g}_clip{clip:g}": Descent(steps, rate, clip)
    for steps, rate, clip in product((30, 100), (4.0, 16.0), (0.05, 0.2, 1.0))
}
FIXED = "noisy_gd_steps100_rate4_clip0.2"

"""Types of arrays that every room uses."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Integers = NDArray[np.int64]

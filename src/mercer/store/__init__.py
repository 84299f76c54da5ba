"""Save and load: one file, arrays plus JSON, no pickle; loading never runs code from the file.

The file is a plain (uncompressed) zip: `header.json` describes the object, `a0.npy`, `a1.npy`, …
hold its arrays. The header carries the format's version and a SHA-256 of every array. A file is
written beside its destination and moved there when complete, so that a crash leaves the old one.

Only what `names` lists comes back: kernels, maps and learners of this library, and the
preprocessing of scikit-learn that travels with them. A Python function inside a kernel is refused
unless it has a name (`mercer.kernels.register`).
"""

from mercer.store.reading import load
from mercer.store.types import StoreError
from mercer.store.writing import save

__all__ = ["StoreError", "load", "save"]

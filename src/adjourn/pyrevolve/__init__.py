"""A drop-in for pyrevolve 2.2.8: its names, signatures and results, in pure Python.

``adjourn.pyrevolve.install()``, before Devito is imported, makes ``import pyrevolve`` ours;
Devito's own ``DevitoCheckpoint`` and ``CheckpointOperator`` then work with it as they are.

Saves and forward calls are those pyrevolve makes; the forward step before each reverse step is
dropped where the operators prove that it is not needed. Beyond it: budgets in bytes, blocks of
steps reversed at once, compression, and a typed error wherever pyrevolve crashed or went on in
silence.
"""

from . import compression, crevolve, profiling, schedulers, storage
from ._base import BaseRevolver, Checkpoint, Operator
from ._install import install
from ._multilevel import MultiLevelRevolver
from ._revolver import DiskRevolver, MemoryRevolver, Revolver, SingleLevelRevolver
from .crevolve import Action, CRevolve, RevolveError, adjust, expense, maxrange, numforw
from .profiling import Profiler
from .schedulers import Architecture, HRevolve
from .storage import BytesStorage, DiskStorage, NumpyStorage

__version__ = "2.2.8"
"""The version of pyrevolve whose interface this is."""

__all__ = [
    "Action",
    "Architecture",
    "BaseRevolver",
    "BytesStorage",
    "CRevolve",
    "Checkpoint",
    "DiskRevolver",
    "DiskStorage",
    "HRevolve",
    "MemoryRevolver",
    "MultiLevelRevolver",
    "NumpyStorage",
    "Operator",
    "Profiler",
    "RevolveError",
    "Revolver",
    "SingleLevelRevolver",
    "adjust",
    "compression",
    "crevolve",
    "expense",
    "install",
    "maxrange",
    "numforw",
    "profiling",
    "schedulers",
    "storage",
]

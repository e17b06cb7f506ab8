# pyarrow makes the functions of its compute module at import, where no type checker sees them.
from typing import Any

def __getattr__(name: str) -> Any: ...

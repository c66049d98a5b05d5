"""The part of Meson's interface for modules that meson-module/tally.py uses, for mypy."""
from typing import Any, Callable, Dict

class ModuleInfo:
    def __init__(self, name: str) -> None: ...

class ModuleState:
    environment: Any
    subproject: str
    def __getattr__(self, name: str) -> Any: ...

class ExtensionModule:
    interpreter: Any
    methods: Dict[str, Callable[..., Any]]
    def __init__(self, interpreter: Any) -> None: ...

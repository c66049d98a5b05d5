# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The Meson module import('tally'): stores coverage settings, and makes a target that prints the
table.

Uses only the part of Meson's module interface that is the same in Meson 1.0 to 1.12. The hook loads
this file as mesonbuild.modules.tally, and so does lent_meson.py.
"""

from __future__ import annotations

import os
import sys
import typing as T

from tally_meson import settings

from . import ExtensionModule, ModuleInfo
from ..interpreterbase import InvalidArguments, noKwargs, noPosargs

if T.TYPE_CHECKING:
    from . import ModuleState
    from ..interpreter import Interpreter
    from ..interpreterbase import TYPE_kwargs, TYPE_var


class TallyModule(ExtensionModule):
    INFO = ModuleInfo("tally")

    def __init__(self, interpreter: Interpreter) -> None:
        super().__init__(interpreter)
        if not getattr(interpreter, "subproject", ""):
            settings.mark(interpreter.environment.get_build_dir())
        self._configured: T.Set[str] = set()  # names of subprojects; '' is the main project
        self.methods.update(
            {
                "enabled": self.enabled,
                "configure": self.configure,
                "report_target": self.report_target,
            }
        )

    @noPosargs
    @noKwargs
    def enabled(self, state: ModuleState, args: T.List[TYPE_var], kwargs: TYPE_kwargs) -> bool:
        try:
            return bool(state.get_option("b_coverage"))
        except Exception:  # no compiler has the option; the type depends on the version of Meson
            return False

    @noPosargs
    def configure(
        self, state: ModuleState, args: T.List[TYPE_var], kwargs: TYPE_kwargs
    ) -> T.Any:  # None; Meson's type of a method omits it
        try:
            given = settings.checked(kwargs)
        except TypeError as error:
            raise InvalidArguments(f"tally.configure: {error}") from None
        if state.subproject in self._configured:
            raise InvalidArguments("tally.configure: was already called in this project")
        self._configured.add(state.subproject)
        # A subproject must not change the settings of its parent.
        if not state.subproject:
            settings.store(settings.path_in(state.environment.get_build_dir()), given)

    @noKwargs
    def report_target(
        self, state: ModuleState, args: T.List[TYPE_var], kwargs: TYPE_kwargs
    ) -> TYPE_var:
        if len(args) != 1 or not isinstance(args[0], str):
            raise InvalidArguments(
                "tally.report_target: expected one argument, the name of the "
                f"target, not {args!r}"
            )
        package = os.path.dirname(os.path.abspath(settings.__file__))
        command = [sys.executable, package, "report", "-C", state.environment.get_build_dir()]
        # The function that a meson.build calls is more stable than the classes behind it.
        return self.interpreter.func_run_target(state.current_node, [args[0]], {"command": command})


def initialize(interp: Interpreter) -> TallyModule:
    return TallyModule(interp)

"""Options in, an `Audit` out: the attack that ships with the library. `quietrank.audit(quick=True)` runs it.

The audit works on the very code that makes releases, on synthetic votes only; docs/audit.md explains it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quietrank.audit.report import Audit


class _Callable(ModuleType):
    """Importing this package makes it `quietrank.audit`; so that `quietrank.audit(...)` still runs the audit, the
    package itself can be called."""

    def __call__(self, **options: Any) -> Audit:
        from quietrank.audit.run import audit

        return audit(**options)


sys.modules[__name__].__class__ = _Callable

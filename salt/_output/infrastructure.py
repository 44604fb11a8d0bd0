"""
Runs, plans and answers of the ``infrastructure`` runner as a person reads them
===============================================================================

The runner picks this outputter itself. ``--out=json`` and every other outputter work on the same return.

CLI Example:

.. code-block:: bash

    salt-run infrastructure.plan staging
    salt-call --local infrastructure.status staging --out=infrastructure
"""

from __future__ import annotations

import logging
import pprint
import shutil
import sys

log = logging.getLogger(__name__)

__virtualname__ = "infrastructure"


def __virtual__():
    try:
        import saltform.report  # noqa: F401
    except ImportError:
        return (
            False,
            "the Python package saltform is not here: salt-pip install . in a checkout of it (README, Install)",
        )
    return __virtualname__


def output(ret, **kwargs):
    """
    The return of a runner verb, or one for each minion, as text.

    ret
        What came back. Anything that is not known here is shown as Salt's ``nested`` outputter does.
    """
    try:
        text = _text(ret)
    except Exception:  # an outputter that fails would hide the result it was given
        log.debug("infrastructure outputter", exc_info=True)
        text = None
    return text if text is not None else _nested(ret, **kwargs)


def _text(ret):
    from saltform.report import text

    if not isinstance(ret, dict):
        return None
    if "verb" in ret:
        return text.render(ret, width=_width(), color=bool(__opts__.get("color")))
    if isinstance(ret.get("return"), dict):  # as the job cache has it
        return _text(ret["return"])
    parts = {name: _text(value) for name, value in ret.items()}  # one for each minion
    if not parts or None in parts.values():
        return None
    if list(parts) == ["local"]:
        return parts["local"]
    return "\n\n".join(f"{name}:\n{shown}" for name, shown in parts.items())


def _width():
    """The terminal's, if there is one: what goes to a file or a pipe is not wrapped."""
    if __opts__.get("output_file") or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _nested(ret, **kwargs):
    try:
        from salt.output import get_printout

        # With --out=infrastructure the option would bring us back here.
        opts = {name: value for name, value in __opts__.items() if name != "output"}
        return get_printout("nested", opts)(ret, **kwargs)
    except Exception:  # no Salt to ask, or a shape that it can't show either
        return pprint.pformat(ret)

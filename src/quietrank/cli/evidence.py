"""`quietrank evidence`: a page, JSON and YAML about one release go to a folder; exit code 1 if anything is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import complain
from quietrank.cli.options import Overwrite, result
from quietrank.cli.verify import Paid, Published, Saved
from quietrank.errors import QuietrankError, ReleaseError, UsageError
from quietrank.publish.files import EVIDENCE, REGISTER, REPORT, check_output, write_text
from quietrank.render.screen import progress, show_data

PAGE, VALUES, DRAFT = "evidence.html", "evidence.json", "registry.yaml"


def evidence(
    release: Published,
    out: Annotated[Path, result("The folder to write into; it is made if it is not there.", "DIR")],
    ledger: Paid = None,
    tally: Saved = None,
    quick: Annotated[bool, typer.Option("--quick", help="Attack the promise for up to a minute; the default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Attack it as thoroughly as the audit can: minutes.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes.", metavar="W", min=1)] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write what a privacy officer files about one release: promise, proof, attack, payment, versions and hashes.

    A page for people, JSON, and a draft for the public registry of deployments. No votes are needed and none are read.
    Exit code 1, with the pack written, if anything in it does not hold.
    """
    from quietrank.evidence.pack import make_pack
    from quietrank.evidence.page import page
    from quietrank.evidence.register import as_yaml
    from quietrank.evidence.subject import read_subject
    from quietrank.publish.tabular import json_text

    if quick and full:
        raise UsageError("--quick and --full are two forms of the same attack; give one of them")
    subject, kinds = read_subject(release), {PAGE: REPORT, VALUES: EVIDENCE, DRAFT: REGISTER}
    _check_folder(out)
    for name, kind in kinds.items() if out.exists() else ():
        check_output(out / name, kind, overwrite=overwrite, reads=(release, ledger, tally))
    with progress("verifying and attacking …") as bar:
        pack = make_pack(subject, ledger=ledger, tally=tally, full=full, workers=workers, progress=bar)
    texts = {PAGE: page(pack), VALUES: json_text(pack.to_dict()), DRAFT: as_yaml(pack)}
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"cannot make the folder {out}: {error.strerror}; choose another place") from None
    for name, kind in kinds.items():
        write_text(out / name, texts[name], kind, overwrite=overwrite)
        show_data(f"{out / name}\n")
    if pack.reason is not None:
        complain(QuietrankError(f"{release} does not hold: {pack.reason}"))
        raise typer.Exit(1)


def _check_folder(out: Path) -> None:
    """Refuse before any work what is no folder and cannot become one."""
    if out.exists() and not out.is_dir():
        raise ReleaseError(f"{out} is a file; --out takes a folder, choose another name")
    if not out.exists() and not out.parent.is_dir():
        raise ReleaseError(f"there is no folder {out.parent}; make it, or choose another place for {out.name}")

"""The pages in the order of the work: plan, votes, release, result; and beside them boards and history."""

from quietrank.app.pages.whole import make_app

__all__ = ["make_app"]

"""An ASGI app in, the same app out behind a door: who is let in, what may be sent, and what a browser may do with it.

The door stands on a machine that other people and other programs may use too. Any web page that is open in the same
browser can send requests to it, and so can every user of the machine. Therefore:

- a request must name this server as its host, and a page that sends it must come from this server;
- the token in the printed address works once, and is exchanged for a path (the room) and a cookie, both random;
- everything else needs both. Cookies are sent to all ports of a host, but only below their path.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "quietrank"
UPLOAD = re.compile(r"session/\w+/upload/\w+")
"""where Shiny takes files"""
POLICY_VIOLATION = 1008
"""closes a websocket; before it was accepted, uvicorn answers 403"""
FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
SCRIPT_TYPES = ("", "module", "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript")

USED = (
    "This address works once, and it was used.",
    "If it was you who opened it, go on in that window; for a second window, copy the address of that window.",
    "If it was not you, stop quietrank app with Ctrl-C: somebody else on this machine may have opened it.",
)
NO_KEY = (
    "Use the address that quietrank app printed in the terminal.",
    "It works once. If it was used in another browser, stop quietrank app with Ctrl-C and start it again.",
)
FOREIGN = ("This request does not come from a page of quietrank app, and was refused.",)
WRONG_METHOD = ("quietrank app does not take requests of this kind here.",)
NO_BODY = ("A request of this kind has no content; this one was refused.",)
TOO_LARGE = ("The file is larger than quietrank app takes; start it again with a larger --max-upload.",)


class RefusalError(Exception):
    """A request is not let in: the status of the answer, and what its page says."""

    def __init__(self, status: int, sentences: Sequence[str]) -> None:
        super().__init__(status, *sentences)
        self.status, self.sentences = status, sentences


def guarded(app: ASGIApp, *, port: int, token: str, largest: int, scripts: Sequence[str]) -> Guard:
    """The app behind a door on this port of 127.0.0.1.

    `token` opens it once; `largest` is the most bytes that one request may send; `scripts` are the texts of the
    inline scripts that its pages may run.
    """
    hosts = tuple(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
    return Guard(app, hosts, token, largest, _headers(scripts))


@dataclass
class Guard:
    """An app behind a door; `guarded` makes one."""

    app: ASGIApp
    hosts: tuple[bytes, ...]
    token: str
    largest: int
    headers: list[tuple[bytes, bytes]]
    """of every answer"""
    is_used: bool = False
    """whether the token was used"""
    room: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """the value of the cookie"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._http(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_sender(scope, origin_needed=True)
            self._check_key(scope)
        except RefusalError:
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await self.app({**scope, "root_path": f"/{self.room}"}, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = Answer(send, self.headers)
        try:
            self._check_sender(scope)
            if scope["path"] == "/":
                await self._enter(scope, answer)
            else:
                self._check_key(scope)
                await self._let_in(scope, receive, answer)
        except RefusalError as refusal:
            if not answer.is_begun:  # else uvicorn breaks it off
                await answer.refuse(refusal, scope["method"])

    def _check_sender(self, scope: Scope, *, origin_needed: bool = False) -> None:
        """Refuse another host, which a foreign domain may have been pointed at this machine to use, and other pages."""
        hosts, origins, sites = (_values(scope, name) for name in (b"host", b"origin", b"sec-fetch-site"))
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            raise RefusalError(403, FOREIGN)
        if (origins or origin_needed) and origins != [b"http://" + hosts[0]]:
            raise RefusalError(403, FOREIGN)
        if not set(sites) <= {b"same-origin", b"none"} and not self._is_arrival(scope):
            raise RefusalError(403, FOREIGN)

    def _is_arrival(self, scope: Scope) -> bool:
        """Whether a window is opened at the entrance, or led from there to the room: the browser calls both foreign if
        they began with a file, and whoever knows these addresses may go there."""
        return (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and _values(scope, b"sec-fetch-mode") == [b"navigate"]
            and _values(scope, b"sec-fetch-dest") == [b"document"]
            and (scope["path"] == "/" or (self._is_in_room(scope) and self._place(scope) == ""))
        )

    async def _enter(self, scope: Scope, answer: Answer) -> None:
        """Exchange the token for the room and its cookie, once; a browser that only looks ahead does not use it up."""
        name, _, given = scope["query_string"].partition(b"=")
        if name != b"token" or not secrets.compare_digest(given, self.token.encode()):
            raise RefusalError(403, NO_KEY)
        if self.is_used:
            raise RefusalError(403, USED)
        if scope["method"] != "GET" or _has_body(scope) or _values(scope, b"sec-purpose"):
            raise RefusalError(403, NO_KEY)
        self.is_used = True
        # Lax: a browser would not send a strict cookie after a redirect that began with a file.
        cookie = f"{COOKIE}={self.key}; Path=/{self.room}/; HttpOnly; SameSite=Lax"
        await answer.send_whole(303, b"", [(b"location", f"/{self.room}/".encode()), (b"set-cookie", cookie.encode())])

    def _check_key(self, scope: Scope) -> None:
        """Refuse whoever does not know the room, or has not its cookie."""
        has_key = any(secrets.compare_digest(key, self.key.encode()) for key in _keys(scope))
        if not (has_key and self._is_in_room(scope)):
            raise RefusalError(403, NO_KEY)

    def _is_in_room(self, scope: Scope) -> bool:
        start = f"/{self.room}/".encode()
        return secrets.compare_digest(scope["path"].encode("utf-8", "replace")[: len(start)], start)

    def _place(self, scope: Scope) -> str:
        """The path within the room."""
        return str(scope["path"]).removeprefix(f"/{self.room}/")

    async def _let_in(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        """Hand a request on. By the rules of ASGI its path still begins with the root path, and the app removes it."""
        method = scope["method"]
        is_upload = method == "POST" and UPLOAD.fullmatch(self._place(scope)) is not None
        if method not in ("GET", "HEAD") and not is_upload:
            raise RefusalError(405, WRONG_METHOD)
        if not is_upload and _has_body(scope):
            raise RefusalError(400, NO_BODY)
        if any(_number(length) > self.largest for length in _values(scope, b"content-length")):
            raise RefusalError(413, TOO_LARGE)
        body = Body(receive, self.largest)
        await self.app({**scope, "root_path": f"/{self.room}"}, body.receive, answer.send_unless(body))
        if body.is_too_large:  # and the app caught what `receive` raised
            raise RefusalError(413, TOO_LARGE)


class Body:
    """What a request sends, counted."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive, self._left = receive, largest
        self.is_too_large = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.is_too_large = True
            raise RefusalError(413, TOO_LARGE)
        return message


class Answer:
    """What is sent back, with the headers of the door in place of the app's own."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send, self._headers = send, headers
        self.is_begun = False

    def send_unless(self, body: Body) -> Send:
        """What the app sends with; once the request was too large, what it says about that failure is dropped."""

        async def send(message: Message) -> None:
            if not body.is_too_large:
                await self.send(message)

        return send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            ours = {name for name, _ in self._headers}
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in ours]
            message = {**message, "headers": [*kept, *self._headers]}
        await self._send(message)

    async def send_whole(self, status: int, content: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        size = (b"content-length", str(len(content)).encode())
        await self.send({"type": "http.response.start", "status": status, "headers": [size, *headers]})
        await self.send({"type": "http.response.body", "body": content})

    async def refuse(self, refusal: RefusalError, method: str) -> None:
        """Say no, and close the connection: what else the sender has to send is not read.

        A person reads the answer to GET as a page; Shiny shows the one to an upload as text, beside the file.
        """
        kind, text = ("html", _page(refusal.sentences)) if method == "GET" else ("plain", " ".join(refusal.sentences))
        headers = [(b"content-type", f"text/{kind}; charset=utf-8".encode()), (b"connection", b"close")]
        if refusal.status == 405:
            headers.append((b"allow", b"GET, HEAD"))
        await self.send_whole(refusal.status, b"" if method == "HEAD" else text.encode(), headers)


# ---- what a request says -------------------------------------------------------------------------------------------


def _values(scope: Scope, name: bytes) -> list[bytes]:
    """All values of a header; ASGI gives names in small letters."""
    return [value for key, value in scope["headers"] if key == name]


def _keys(scope: Scope) -> list[bytes]:
    """The values of our cookie; other servers on this machine may have set others, also of this name."""
    cookies = [cookie.strip().partition(b"=") for line in _values(scope, b"cookie") for cookie in line.split(b";")]
    return [value for name, _, value in cookies if name == COOKIE.encode()]


def _has_body(scope: Scope) -> bool:
    lengths = [_number(length) for length in _values(scope, b"content-length")]
    return any(lengths) or bool(_values(scope, b"transfer-encoding"))


def _number(length: bytes) -> int:
    if not re.fullmatch(rb"[0-9]{1,20}", length):
        raise RefusalError(400, NO_BODY)
    return int(length)


# ---- what an answer says -------------------------------------------------------------------------------------------


def _headers(scripts: Sequence[str]) -> list[tuple[bytes, bytes]]:
    headers = {"Content-Security-Policy": _policy(scripts), **FIXED_HEADERS}
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def _policy(scripts: Sequence[str]) -> str:
    """What a browser may load and run: files of this server, and these scripts."""
    own = " ".join(["'self'", *map(_digest, scripts)])
    return (
        f"default-src 'none'; script-src {own}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
    )


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _page(sentences: Sequence[str]) -> str:
    style = "body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1rem }"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>quietrank app</title>'
        f"<style>{style}</style></head>\n<body>\n"
        + "\n".join(f"<p>{sentence}</p>" for sentence in sentences)
        + "\n</body>\n</html>\n"
    )


def inline_scripts(html: str) -> list[str]:
    """The texts of the scripts that stand in a page: those that a browser runs and that are in no file."""
    reader = _Scripts()
    reader.feed(html.replace("\r\n", "\n").replace("\r", "\n"))  # as a browser reads it, before it takes the hash
    reader.close()
    return reader.texts


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "script" and "src" not in named and (named.get("type") or "").strip().lower() in SCRIPT_TYPES:
            self._is_inside = True
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.texts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._is_inside = False

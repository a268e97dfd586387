"""The door of the app: what must be refused is sent, beside a request that differs in that alone and is let in."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from shiny import App, ui
from websockets.exceptions import InvalidStatus

from quietrank.app.guard import FIXED_HEADERS, Guard, inline_scripts
from tests.app.doors import LARGEST, TOKEN, Door, Reply, Window, door, small_app

FOREIGN = "http://evil.example"
SCRIPT = "lib/shiny-"
ENTRANCE = f"/?token={TOKEN}"
ARRIVING = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))


@pytest.fixture(scope="module")
def opened() -> Iterator[Door]:
    """A door whose key is known; tests that use the token have one of their own."""
    with door() as place:
        yield place


@pytest.fixture
def new() -> Iterator[Door]:
    with door() as place:
        yield place


@pytest.fixture
def window(opened: Door) -> Iterator[Window]:
    with opened.connect(origin=opened.origin) as connection:
        yield Window(connection)


def _refused(place: Door, **how: Any) -> int:
    """The status with which a websocket is refused."""
    with pytest.raises(InvalidStatus) as refusal, place.connect(**how):
        pass
    return int(refusal.value.response.status_code)


# ---- the entrance ----------------------------------------------------------------------------------------------------


def test_the_token_opens_once(new: Door) -> None:
    """The printed address leads to the room and brings its cookie; the second who tries reads what that means."""
    first, second = new.ask(ENTRANCE), new.ask(ENTRANCE)
    cookie = first.headers["set-cookie"]
    assert (first.status, first.headers["location"]) == (303, new.inside())
    assert cookie == f"quietrank={new.guard.key}; Path={new.inside()}; HttpOnly; SameSite=Lax"
    assert new.ask(first.headers["location"], [("Cookie", cookie.partition(";")[0])]).status == 200
    assert second.status == 403
    assert "set-cookie" not in second.headers
    for words in ("works once", "go on in that window", "Ctrl-C", "somebody else on this machine"):
        assert words in second.text


def test_nothing_else_opens(new: Door) -> None:
    """No token, a wrong one, or another place: no cookie, and the token still works afterwards."""
    tokens = ("", "wrong", f"{TOKEN}x", f"{TOKEN}&x=1", TOKEN[:-1])
    for path in ("/", "/?%ff", f"/?Token={TOKEN}", f"/other?token={TOKEN}", *(f"/?token={token}" for token in tokens)):
        reply = new.ask(path)
        assert (reply.status, "set-cookie" in reply.headers) == (403, False), path
        assert "address that quietrank app printed in the terminal" in reply.text
    assert new.ask(ENTRANCE).status == 303


def test_only_a_person_uses_the_token_up(new: Door) -> None:
    """A browser that looks ahead, a HEAD and a POST do not."""
    assert new.ask(ENTRANCE, [("Sec-Purpose", "prefetch;prerender")]).status == 403
    assert new.ask(ENTRANCE, method="HEAD").status == 403
    assert new.ask(ENTRANCE, [("Content-Length", "1")], method="POST", body=b"x").status == 403
    assert new.ask(ENTRANCE, [("Content-Length", "1")], body=b"x").status == 403
    assert new.ask(ENTRANCE).status == 303


def test_secrets_differ() -> None:
    """Two doors have neither room nor cookie in common, and the two are not the same."""
    guards = [Guard(small_app(), (), TOKEN, 1, []) for _ in range(2)]
    values = {value for guard in guards for value in (guard.room, guard.key)}
    assert len(values) == 4
    assert min(map(len, values)) >= 32


# ---- who asks --------------------------------------------------------------------------------------------------------


def test_the_hosts_of_this_machine_are_let_in(opened: Door) -> None:
    """Under both of its names."""
    for name in ("127.0.0.1", "localhost"):
        assert opened.ask_inside(hosts=[f"{name}:{opened.port}"]).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "localhost", "127.0.0.1:1", "127.0.0.2:{}", "[::1]:{}",
             "localhost.evil.example:{}", "x@localhost:{}"],
)  # fmt: skip
@pytest.mark.parametrize("inside", [True, False])
def test_another_host_is_refused(opened: Door, host: str, inside: bool) -> None:
    """A name that somebody pointed at this machine, or another port; also where nothing else is asked for."""
    hosts = [host.format(opened.port)]
    reply = opened.ask_inside(hosts=hosts) if inside else opened.ask(ENTRANCE, hosts=hosts)
    assert 400 <= reply.status <= 403  # 400: what uvicorn takes for no host at all
    assert "set-cookie" not in reply.headers


def test_two_hosts_or_none_are_refused(opened: Door) -> None:
    """Over the network by uvicorn already, but for HTTP/1.0; and by the guard itself."""
    assert opened.ask_inside(hosts=[opened.host, "evil.example"]).status in (400, 403)
    assert opened.ask_inside(hosts=[opened.host, opened.host]).status in (400, 403)
    assert _raw(opened, "1.1", "") in (400, 403)
    assert _raw(opened, "1.0", "") == 403
    assert _raw(opened, "1.0", f"Host: {opened.host}\r\n") == 200
    host = (b"host", opened.host.encode())
    assert _called(opened, [host, host]) == 403
    assert _called(opened, [host]) == 200


def _raw(place: Door, version: str, host: str) -> int:
    """The status of a request that is written by hand."""
    name, value = place.cookie
    with socket.create_connection(("127.0.0.1", place.port), 10) as connection:
        connection.sendall(f"GET {place.inside()} HTTP/{version}\r\n{host}{name}: {value}\r\n\r\n".encode())
        return int(connection.recv(1000).split()[1])


def _called(place: Door, headers: list[tuple[bytes, bytes]]) -> int:
    """The status that the guard itself gives, called with the page's path and cookie."""
    name, value = place.cookie
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": place.inside(), "query_string": b"", "http_version": "1.1",
        "headers": [*headers, (name.lower().encode(), value.encode())],
    }  # fmt: skip
    asyncio.run(place.guard(scope, receive, send))
    return int(sent[0]["status"])


def test_only_its_own_pages_may_ask(opened: Door) -> None:
    """Another site, another port, a file, and the other name of this very server have another origin."""
    others = (FOREIGN, "http://127.0.0.1:1", "null", f"http://localhost:{opened.port}", f"https://{opened.host}", "")
    assert opened.ask_inside("", ("Origin", opened.origin)).status == 200
    for origin in others:
        assert opened.ask_inside("", ("Origin", origin)).status == 403
    assert opened.ask_inside("", ("Origin", opened.origin), ("Origin", FOREIGN)).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none, cross-site"])
def test_a_browser_says_that_another_site_asks(opened: Door, site: str) -> None:
    """Another port of this machine is the same site; neither may ask."""
    assert opened.ask_inside("", ("Sec-Fetch-Site", site)).status == 403
    for own in ("same-origin", "none"):
        assert opened.ask_inside("", ("Sec-Fetch-Site", own)).status == 200


def test_a_window_may_be_opened_from_elsewhere(new: Door) -> None:
    """The page that opens the browser is a file, so the browser calls the way in, and on into the room, cross-site;
    as a picture or in a frame that is refused, and so is every other place."""
    site, mode, _ = ARRIVING
    for dest in ("iframe", "image"):
        assert new.ask(ENTRANCE, [site, mode, ("Sec-Fetch-Dest", dest)]).status == 403
    assert new.ask(ENTRANCE, [site, ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")]).status == 403
    assert new.ask(ENTRANCE, ARRIVING).status == 303
    assert new.ask_inside("", *ARRIVING).status == 200
    assert new.ask(new.inside(), ARRIVING).status == 403
    assert new.ask_inside("session/x/download/y", *ARRIVING).status == 403


def test_room_and_cookie_are_both_needed(opened: Door) -> None:
    """One without the other, or a wrong one, opens nothing; others' cookies do no harm."""
    name, value = opened.cookie
    wrong = ("Cookie", "quietrank=wrong")
    assert opened.ask(opened.inside()).status == 403
    assert opened.ask(opened.inside(), [wrong]).status == 403
    assert opened.ask(opened.inside(), [("Cookie", f"other{value}")]).status == 403
    for path in ("/wrong/", f"/{opened.guard.room}", f"/{opened.guard.room}x/", f"//{opened.guard.room}/", "/%C3%A9/"):
        assert opened.ask(path, [opened.cookie]).status == 403
    assert opened.ask(opened.inside(), [(name, f'a="b; c"; quietrank=wrong; {value}; d')]).status == 200
    assert opened.ask(opened.inside(), [wrong, opened.cookie]).status == 200


# ---- websockets ------------------------------------------------------------------------------------------------------


def test_a_websocket_is_let_in(opened: Door, window: Window) -> None:
    """With room, cookie and origin Shiny begins a session, also under the other name."""
    assert len(window.session) > 20
    host = f"localhost:{opened.port}"
    with opened.connect(origin=f"http://{host}", host=host) as connection:
        assert Window(connection).session != window.session


def test_other_websockets_are_refused(opened: Door) -> None:
    """Before they are accepted, with 403."""
    own = opened.origin
    for origin in (None, FOREIGN, "null", f"http://localhost:{opened.port}", "http://127.0.0.1:1"):
        assert _refused(opened, origin=origin) == 403
    assert _refused(opened, origin=own, cookie=False) == 403
    assert _refused(opened, origin=own, path="/wrong/websocket/") == 403
    assert _refused(opened, origin=own, path="/websocket/") == 403
    assert _refused(opened, origin="http://evil.example", host="evil.example") == 403


# ---- what is sent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST", "PROPFIND"])
def test_other_methods_are_refused(opened: Door, method: str) -> None:
    """Where pages are read, and where files are taken unless it is POST."""
    assert opened.ask_inside(method=method).status == 405
    if method != "POST":
        assert opened.ask_inside("session/a/upload/b", method=method).status == 405
    assert opened.ask_inside(method="HEAD").status == 200


@pytest.mark.parametrize("place", ["session/a/dataobj/b", "session/a/upload/b/c", "session/a/b/upload/c", "upload/b",
                                   "session//upload/b", "session/a/upload/", "session/a/upload/%2e%2e"])  # fmt: skip
def test_files_are_taken_in_one_place(opened: Door, place: str) -> None:
    """The one where Shiny takes them: it does not know this session, which shows that the guard let it pass."""
    assert opened.ask_inside(place, ("Content-Length", "0"), method="POST").status == 405
    assert opened.ask_inside("session/a/upload/b", ("Content-Length", "0"), method="POST").status == 404


def test_what_is_read_has_no_body(opened: Door) -> None:
    """A GET with content is refused, however its length is told."""
    assert opened.ask_inside("", ("Content-Length", "3"), body=b"abc").status == 400
    assert opened.ask_inside(body=[b"abc"]).status == 400
    assert opened.ask_inside("", ("Content-Length", "3"), method="HEAD", body=b"abc").status == 400
    assert opened.ask_inside("", ("Content-Length", "0")).status == 200


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [0, 1, LARGEST])
def test_a_file_arrives(opened: Door, window: Window, size: int, chunked: bool) -> None:
    """Up to the largest, by length and in chunks."""
    job, place = window.begin_upload(size)
    reply = _upload(opened, place, b"x" * size, chunked)
    assert (reply.status, reply.text) == (200, "OK")
    assert window.end_upload(job) == size


@pytest.mark.parametrize("chunked", [False, True])
def test_a_file_that_is_too_large_is_refused(opened: Door, window: Window, chunked: bool) -> None:
    """One byte more, by length and in chunks; the session lives on."""
    _, place = window.begin_upload(LARGEST + 1)
    reply = _upload(opened, place, b"x" * (LARGEST + 1), chunked)
    assert reply.status == 413
    assert reply.text == "The file is larger than quietrank app takes; start it again with a larger --max-upload."
    job, place = window.begin_upload(3)
    assert _upload(opened, place, b"abc", chunked).status == 200
    assert window.end_upload(job) == 3


def test_a_large_file_is_refused_unread(opened: Door) -> None:
    """By its length alone: nothing of it was sent yet."""
    headers = [opened.cookie, ("Content-Length", "9" * 15)]
    assert opened.ask(opened.inside("session/a/upload/b"), headers, method="POST").status == 413


def _upload(place: Door, where: str, content: bytes, chunked: bool) -> Reply:
    headers = [("Origin", place.origin), ("Sec-Fetch-Site", "same-origin")]
    if chunked:
        parts = [content[start : start + 1000] for start in range(0, len(content), 1000)]
        return place.ask_inside(where, *headers, method="POST", body=parts)
    return place.ask_inside(where, *headers, ("Content-Length", str(len(content))), method="POST", body=content)


# ---- what is answered ------------------------------------------------------------------------------------------------


def test_every_answer_tells_the_browser_what_it_may(new: Door) -> None:
    """Pages, files, redirects and refusals have the same headers, once each."""
    (script,) = [part for part in new.ask_inside().text.split('"') if part.startswith(SCRIPT) and "shiny.js" in part]
    replies = [
        new.ask(ENTRANCE), new.ask(ENTRANCE), new.ask("/"), new.ask("/x"), new.ask("/", hosts=["evil.example"]),
        new.ask_inside(), new.ask_inside(script), new.ask_inside("missing"), new.ask_inside(method="PUT"),
        new.ask_inside("session/a/upload/b", ("Content-Length", "9" * 15), method="POST"),
        new.ask_inside(method="HEAD"), new.ask_inside("session/a/upload/b", ("Content-Length", "0"), method="POST"),
    ]  # fmt: skip
    assert [reply.status for reply in replies] == [303, 403, 403, 403, 403, 200, 200, 404, 405, 413, 200, 404]
    assert "javascript" in replies[6].headers["content-type"]
    for reply in replies:
        assert {name.lower(): value for name, value in FIXED_HEADERS.items()}.items() <= reply.headers.items()
        assert reply.headers["content-security-policy"] == replies[0].headers["content-security-policy"]
        assert "server" not in reply.headers


def test_the_policy(opened: Door) -> None:
    """Nothing but this server's files and the inline scripts of its own page."""
    reply = opened.ask_inside()
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    scripts = inline_scripts(reply.text)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(scripts) >= 1
    assert policy == {
        "default-src": "'none'", "script-src": " ".join(["'self'", *(f"'sha256-{one}'" for one in hashes)]),
        "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data: blob:", "font-src": "'self'",
        "connect-src": "'self'", "form-action": "'none'", "base-uri": "'none'", "frame-ancestors": "'none'",
        "object-src": "'none'",
    }  # fmt: skip


def test_the_doors_headers_replace_the_apps_own() -> None:
    """Whatever the app says about caching and the policy, and in whatever letters."""

    async def lax(scope: Any, receive: Any, send: Any) -> None:
        own = [(b"Cache-Control", b"public"), (b"content-security-policy", b"default-src *"), (b"x-own", b"kept")]
        await send({"type": "http.response.start", "status": 200, "headers": [*own, (b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(lax, (b"h",), TOKEN, 1, [(b"cache-control", b"no-store"), (b"content-security-policy", b"x")])
    headers = [(b"host", b"h"), (b"cookie", f"quietrank={guard.key}".encode())]
    scope = {"type": "http", "method": "GET", "path": f"/{guard.room}/", "query_string": b"", "headers": headers}
    asyncio.run(guard(scope, lambda: asyncio.sleep(0, {}), send))
    assert sent[0]["headers"] == [
        (b"x-own", b"kept"), (b"content-length", b"0"), (b"cache-control", b"no-store"),
        (b"content-security-policy", b"x"),
    ]  # fmt: skip


def test_inline_scripts_are_found() -> None:
    """Those that a browser runs; neither files nor data."""
    page = (
        '<script src="a.js"></script><script>one < "&amp;"</script><SCRIPT TYPE="Module">two\r\n</SCRIPT>'
        '<script></script><script type="application/json">{}</script><p>text</p>'
        '<script type="text/javascript">three<!-- </script>'
    )
    assert inline_scripts(page) == ['one < "&amp;"', "two\n", "", "three<!-- "]
    html: Any = App(ui.page_fluid("x"), None).ui
    assert any("shinyBusy" in script for script in inline_scripts(html["html"]))

"""Cases of scripts/resume-matrix that come from public bug reports of downloaders."""

from origin import CUT, OLD, SIZE, Case, correct, held, odd_range, once

ERROR = b'{"error": "the quota of this bucket is used up"}'
UNQUOTED = OLD.but(etag="unquoted", modified="")
WEAK = OLD.but(etag='W/"one"')


def part_as_whole(exchange):
    """Sends the right part, with its Content-Range, but with the status 200."""
    end = exchange.end_of(OLD)
    exchange.answer(
        "200 OK", OLD.body[exchange.start : end], f"Content-Range: bytes {exchange.start}-{end - 1}/{SIZE}",
        *OLD.fields)


def rest_as_whole(exchange):
    """Sends the right part as if it were the whole file."""
    exchange.answer("200 OK", OLD.body[exchange.start :], *OLD.fields)


def error(kind):
    return lambda exchange: exchange.answer("200 OK", ERROR, *([f"Content-Type: {kind}"] if kind else []))


def status(line):
    return lambda exchange: exchange.answer(line, b"" if line.startswith("204") else b"no ranges here\n")


def folded(end):
    """Sends the header field `Transfer-Encoding` folded into two lines (RFC 9112 §5.2)."""

    def answer(exchange):
        exchange.has(OLD)
        exchange.head("200 OK", "Transfer-Encoding:\r\n chunked", *OLD.fields)
        for first in range(0, end, 65536):
            exchange.body(b"10000\r\n" + OLD.body[first : first + 65536] + b"\r\n")
        if end == SIZE:
            exchange.body(b"0\r\n\r\n")

    return answer


def identity(exchange):
    """Sends Content-Length and `Transfer-Encoding: identity`, which means no coding. The body breaks off."""
    exchange.has(OLD)
    exchange.head("200 OK", "Transfer-Encoding: identity", f"Content-Length: {SIZE}", *OLD.fields)
    exchange.body(OLD.body[:CUT])


def length_forgotten(exchange):
    """Answers as some proxies do: no length and no validator, and the body ends at the same byte each time."""
    exchange.has(OLD)
    exchange.head("200 OK", "Content-Type: application/octet-stream")
    exchange.body(OLD.body[: SIZE * 3 // 4])


def round_trip(exchange):
    """Redirects clients without a cookie to the same address, and sets the cookie."""
    if "visited=yes" in exchange.fields.get("cookie", ""):
        return correct(OLD)(exchange)
    exchange.answer("302 Found", b"", "Location: /f.bin", "Set-Cookie: visited=yes; Path=/")


CASES = [
    odd_range("the rest as 200, with its Content-Range", part_as_whole),
    odd_range("the rest as 200, with the ETag of the whole file", rest_as_whole),
    Case("a JSON error instead of the file", held(OLD), error("application/json")),
    Case("a plain-text error instead of the file", held(OLD), error("text/plain")),
    Case("an untyped error instead of the file", held(OLD), error("application/octet-stream")),
    odd_range("a JSON error instead of the rest", error("application/json")),
    odd_range("ranges are refused with 404", status("404 Not Found")),
    odd_range("ranges are refused with 403", status("403 Forbidden")),
    odd_range("ranges are refused with 501", status("501 Not Implemented")),
    odd_range("ranges are refused with 204", status("204 No Content")),
    Case("no length after the interruption, cut at the same byte each time", held(OLD), length_forgotten),
    Case("Transfer-Encoding folded", folded(SIZE)),
    Case("Transfer-Encoding folded, cut once", once(folded(CUT), folded(SIZE))),
    Case("Transfer-Encoding: identity with Content-Length, cut once", once(identity, correct(OLD))),
    Case("an ETag without quotes", held(UNQUOTED), correct(UNQUOTED)),
    Case("a weak ETag and an old date", held(WEAK), correct(WEAK)),
    Case("redirected to itself with a cookie", round_trip),
]

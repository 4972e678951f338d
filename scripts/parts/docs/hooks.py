"""Builds a site from pages that are written for GitHub. mkdocs calls the functions named on_….

It adds the pages of the root, changes links to files outside docs into links to their copies in the site, and indents
list items as Python's Markdown requires.
"""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = {"README.md": "index.md"} | {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
ARTICLES = "Sources/HaulTransfer/HaulTransfer.docc"
LIBRARY = "library/index.html"

CODE = r"(?:(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
LINK = re.compile(CODE + r"|\]\((?P<inline>[^)\s]+)\)|^\[[^\]]+\]: (?P<reference>\S+)")
FENCE = re.compile(r" *(```+|~~~+)")
ITEM = re.compile(r"(?P<indent> *)(?P<mark>[-*+]|\d+\.) +(?=\S)")

copies = {}


def on_files(files, config):
    copies.clear()
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    files.append(File.generated(config, "site.css", abs_src_path=str(pathlib.Path(__file__).with_name("site.css"))))
    # mkdocs must know each file before it reads the first page.
    for file in list(files.documentation_pages()):
        for is_text, line in lines_of(file.content_string):
            for match in LINK.finditer(line) if is_text else ():
                target(match["inline"] or match["reference"] or "", file.src_uri)
    for source, copy in copies.items():
        files.append(File.generated(config, copy, abs_src_path=str(ROOT / source)))
    return files


def on_nav(nav, config, files):
    # scripts/docs puts docc's pages there; mkdocs does not know them.
    nav.items.append(Link("Swift library", LIBRARY))
    return nav


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    if here == "index.md":
        # The section has no other page, so hide its navigation: the examples get the space.
        page.meta["hide"] = ["navigation"]

    def changed(match):
        link = match["inline"] or match["reference"]
        return match[0] if link is None else match[0].replace(link, target(link, here))

    lines = [LINK.sub(changed, line) if is_text else line for is_text, line in lines_of(markdown)]
    return "\n".join(indented(lines))


def lines_of(markdown):
    """Yields each line, and whether it is text, not code in a block."""
    fence = None
    for line in markdown.split("\n"):
        mark = FENCE.match(line)
        yield fence is None and not mark, line
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None


def target(link, page):
    """Returns the link in the site for `link` of a page."""
    if ":" in link or link.startswith("#"):
        return link
    path, sharp, anchor = link.partition("#")
    source = next((name for name, made in PAGES.items() if made == page), "docs/" + page)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if path in PAGES:
        found = PAGES[path]
    elif path.startswith("docs/"):
        found = path.removeprefix("docs/")
    elif path == ARTICLES:
        # mkdocs cannot check this link, because the target is not a page of mkdocs.
        return "https:" + LIBRARY
    else:
        if not (ROOT / path).is_file():
            return link
        # As text, so that a browser shows the file.
        found = copies.setdefault(path, f"files/{path}.txt")
    return posixpath.relpath(found, posixpath.dirname(page) or ".") + sharp + anchor


def on_page_content(html, page, config, files):
    return html.replace('href="https:' + LIBRARY, 'href="' + posixpath.relpath(LIBRARY, posixpath.dirname(page.url) or "."))


def indented(lines):
    """Indents list levels by four columns each, and separates lists of different kinds."""
    widths, is_after_blank, fence, found, is_numbered = [], True, None, [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        mark = FENCE.match(line)
        item = ITEM.match(line) if fence is None else None
        if not line.strip():
            found.append("")
            is_after_blank = True
            continue
        if fence is None and (is_after_blank or item or mark):
            while widths and indent < widths[-1]:
                widths.pop()
        if item and not widths and not is_after_blank and not found[-1].startswith(" ") and not ITEM.match(found[-1]):
            found.append("")
        if not widths:
            before, is_numbered = is_numbered, item["mark"].endswith(".") if item else None
            if item and before not in (None, is_numbered):
                found += ["", "<!-- another list -->", ""]
        width = widths[-1] if widths else 0
        found.append("    " * len(widths) + line[min(indent, width):])
        if item:
            widths.append(item.end())
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        is_after_blank = False
    return found

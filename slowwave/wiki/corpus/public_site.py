"""A public site: which pages may be published, and their HTML files with backlinks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from slowwave.errors import Refused
from slowwave.sources.page_files import link_of, wikilink
from slowwave.store.logins import Connection
from slowwave.text.frontmatter import body
from slowwave.text.markdown import anchor_key
from slowwave.wiki.corpus.export import write_new
from slowwave.wiki.corpus.public_artifacts import MarkedPage, marked_pages

# A public site: pages that may be published as self-contained HTML files, with backlinks and a search in the browser.
#
# Every page is memory text: raw HTML in it is shown as text, links lead to published pages or to the web, nothing is loaded from other
# hosts, and the content security policy allows only the site's own script. The same pages give the same bytes.

MANIFEST: Final = ".slowwave-published.json"
"""Lists the files of the last publication: the next one removes these and no others."""
_OWN: Final = re.compile(r"index\.html|pages/[a-z0-9-]{1,80}\.html")
_UNSEEN: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters, and marks that change the direction of the text after them."""
_SEARCHED: Final = 20_000  # characters of a page

_LINKS: Final = """
SELECT document_id::text, kind, target, target_document_id::text FROM memory.links
WHERE invalidated_at IS NULL AND document_id = ANY(%(pages)s::uuid[]) AND target_document_id = ANY(%(pages)s::uuid[])
"""

_STYLE: Final = """
body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;color:#1b1f24;background:#fff}
a{color:#0550ae}pre,code{background:#f3f4f6;overflow-x:auto}pre{padding:.8rem}
blockquote{margin-left:0;padding-left:1rem;border-left:3px solid #ccc}
table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem}input{width:100%;font:inherit;padding:.4rem}
aside{margin-top:3rem;border-top:1px solid #ccc}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}a{color:#8ab4f8}pre,code{background:#24272d}}
"""
_SCRIPT: Final = """
const pages = JSON.parse(document.getElementById("pages").textContent);
const list = document.getElementById("found"), asked = document.getElementById("asked");
const show = () => {
  const words = asked.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const hits = pages.map(([file, title, text]) => [file, title, words.reduce((n, w) =>
    n < 0 ? n : title.toLowerCase().includes(w) ? n + 2 : text.includes(w) ? n + 1 : -1, 0)]);
  list.replaceChildren(...hits.filter(h => h[2] >= 0).sort((a, b) => b[2] - a[2]).map(([file, title]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = file; link.textContent = title; link.dir = "auto"; item.append(link);
    return item;
  }));
};
asked.addEventListener("input", show);
"""


@dataclass(frozen=True, slots=True)
class PublicSite:
    """Result of publishing a site.

    ``pages`` and ``bytes`` count all files that were written. ``held_back`` lists (path, reason) of pages that are marked as public but
    were held back.
    """

    folder: str
    pages: int
    bytes: int
    held_back: tuple[tuple[str, str], ...]


def publish_site(connection: Connection, namespace: str, folder: Path, corpus: str | None = None) -> PublicSite:
    """Write the site to a folder that is empty, does not exist, or holds an earlier publication, which is replaced.

    Raises ``Refused``.
    """
    before = _published(folder)
    marked = marked_pages(connection, namespace, corpus)
    pages = [page for page in marked if not page.held_back]
    links: Any = connection.execute(_LINKS.encode(), {"pages": [page.id for page in pages]}).fetchall()
    files = site_files(namespace, pages, links)
    for name in before:
        (folder / name).unlink(missing_ok=True)
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    for name, content in {**files, MANIFEST: json.dumps(sorted(files), indent=1).encode()}.items():
        write_new(folder / name, content)
    held = tuple((page.path, page.held_back) for page in marked if page.held_back)
    return PublicSite(str(folder), len(pages), sum(map(len, files.values())), held)


def site_files(
    namespace: str, pages: Sequence[MarkedPage], links: Sequence[tuple[str, str, str, str]]
) -> dict[str, bytes]:
    """Return the content of every file of a site, by name. Pure.

    ``links`` are tuples of (page, kind, target as written, target page); pages are given by their ids.
    """
    names = {page.id: _file_name(page) for page in pages}
    titles = {page.id: _seen(page.title) or page.path for page in pages}
    meant: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    back: defaultdict[str, set[str]] = defaultdict(set)
    for source, kind, target, page in links:
        meant[source][kind, target] = names[page]
        if page != source:
            back[page].add(source)
    files: dict[str, bytes] = {}
    found: list[tuple[str, str, str]] = []
    for page in pages:
        text = _seen(body(page.content.removeprefix("\ufeff")))
        rendered, words = _rendered(text, meant[page.id])
        sources = sorted((titles[id_], names[id_]) for id_ in back[page.id])
        linked = "".join(f'<li><a href="{name}" dir="auto">{escape(title)}</a></li>' for title, name in sources)
        aside = f"<aside><h2>Linked from</h2><ul>{linked}</ul></aside>" if linked else ""
        main = f'<nav><a href="../index.html">{escape(namespace)}</a></nav><main dir="auto">{rendered}</main>{aside}'
        files[f"pages/{names[page.id]}"] = _document(titles[page.id], main)
        found.append((f"pages/{names[page.id]}", titles[page.id], words[:_SEARCHED].lower()))
    found.sort(key=lambda one: (one[1].casefold(), one[0]))
    every = "".join(f'<li><a href="{name}" dir="auto">{escape(title)}</a></li>' for name, title, _ in found)
    data = (
        json.dumps(found, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
    main = (
        f'<h1 dir="auto">{escape(namespace)}</h1><input id="asked" type="search" aria-label="Search" placeholder="Search">'
        f'<ul id="found">{every}</ul><script type="application/json" id="pages">{data}</script><script>{_SCRIPT}</script>'
    )
    files["index.html"] = _document(namespace, main, _SCRIPT)
    return files


def _rendered(text: str, meant: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    """Return the HTML of a page, and its words."""
    parser = _parser()
    tokens = parser.parse(text)
    words: list[str] = []
    for n, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor_key(tokens[n + 1].content))
        if token.type == "inline":
            token.children = _linked(token.children or [], meant)
            words += [child.content for child in token.children if child.type in ("text", "code_inline")]
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    return parser.renderer.render(tokens, parser.options, {}), " ".join(words)


def _linked(children: Sequence[Token], meant: Mapping[tuple[str, str], str]) -> list[Token]:
    """Return the tokens of a paragraph, keeping links that resolve and replacing other links by their text.

    A picture is replaced by its description.
    """
    found: list[Token] = []
    kept: list[bool] = []
    for child in children:
        if child.type == "wikilink":
            href = _href(child, meant)
            if href:
                found.append(Token("link_open", "a", 1, attrs={"href": href}))
            found.append(Token("text", "", 0, content=str(child.meta["shown"])))
            if href:
                found.append(Token("link_close", "a", -1))
        elif child.type == "link_open":
            href = _href(child, meant)
            kept.append(bool(href))
            if href:
                web = {"rel": "noopener noreferrer nofollow"} if urlsplit(href).scheme else {}
                found.append(Token("link_open", "a", 1, attrs={"href": href, **web}))
        elif child.type == "link_close":
            if kept.pop():
                found.append(child)
        elif child.type == "image":
            found.append(Token("text", "", 0, content=child.content))
        else:
            found.append(child)
    return found


def _href(token: Token, meant: Mapping[tuple[str, str], str]) -> str:
    """Return the target of a link: the file of a published page, or an address on the web; empty for anything else."""
    link = link_of(token, 1)
    if link is not None:
        name = meant.get((link.kind, link.target), "") if link.target else ""
        here = not link.target
        key = "" if link.anchor.startswith("^") else anchor_key(link.anchor)
        return f"{name}#{key}" if key and (name or here) else name
    written = str(token.attrGet("href") or "")
    try:
        return written if urlsplit(written).scheme in ("http", "https", "mailto") else ""
    except ValueError:
        return ""


def _document(title: str, main: str, script: str = "") -> bytes:
    scripts = f"'sha256-{_sha256(script)}'" if script else "'none'"
    policy = f"default-src 'none'; style-src 'sha256-{_sha256(_STYLE)}'; script-src {scripts}; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{main}</body></html>\n"
    ).encode()


def _file_name(page: MarkedPage) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", page.title.lower()).strip("-")[:48].strip("-")
    return f"{slug or 'page'}-{page.id[:8]}.html"


def _published(folder: Path) -> list[str]:
    """Return the files of an earlier publication in a folder.

    Raises ``Refused`` if the folder is not empty and holds no such publication.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return []
    try:
        names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(names, list) and all(isinstance(name, str) and _OWN.fullmatch(name) for name in names):
            return names
    except (OSError, ValueError):
        pass
    raise Refused(
        f"{folder} is not empty and holds no site of ours, so nothing was written. Name a folder that is empty, not there yet, or was "
        "published to before."
    )


def _seen(text: str) -> str:
    return _UNSEEN.sub("", text)


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _parser() -> MarkdownIt:
    """Return a parser for CommonMark with tables; raw HTML is treated as text."""
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=RendererHTML).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wikilink", wikilink)
    return parser

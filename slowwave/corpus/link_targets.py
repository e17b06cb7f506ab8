"""Which page a link means: by its path, then by what a vault calls it. Pure; rows belong to ``slowwave.corpus.linking``."""

from __future__ import annotations

import posixpath
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.corpus.markdown import LinkKind

_SUFFIXES: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A page that links may mean."""

    id: str
    path: str
    title: str
    aliases: Sequence[str] = ()


class LinkTargets:
    """The pages of one corpus, looked up by what is written in a link.

    A path that is right comes first: from the page's own folder, then from the root. Then, as in vaults, the end of a path, a file's name,
    a title, an alias; of several that fit, the one in the page's own folder, else the shortest path, else the first.
    """

    def __init__(self, pages: Iterable[LinkTarget]) -> None:
        self._paths: dict[str, LinkTarget] = {}
        self._folded: dict[str, LinkTarget] = {}
        self._stems: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        self._names: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for page in sorted(pages, key=lambda page: (len(page.path), page.path)):
            self._paths[page.path] = page
            self._folded.setdefault(_fold(page.path), page)
            self._stems[_fold(posixpath.basename(_without_suffix(page.path)))].append(page)
            for name in dict.fromkeys(_fold(name) for name in (page.title, *page.aliases) if name):
                self._names[name].append(page)

    def resolve(self, path: str, kind: LinkKind, target: str) -> str | None:
        """The id of the page that a link of the page at ``path`` means; None where there is none. An empty target is the page itself."""
        if not target:
            return self._paths[path].id if path in self._paths else None
        folder = posixpath.dirname(path)
        near = _joined(folder, target)
        far = _joined("", target.lstrip("/"))
        absolute = target.startswith("/")
        order = (far,) if absolute else (near, far) if kind == "markdown" or target.startswith(".") else (far, near)
        for wanted in order:
            if wanted is not None and (found := self._at(wanted)) is not None:
                return found.id
        if kind == "markdown" and "/" in target:
            return None
        ending = _fold(_without_suffix(target))
        stems = [
            page
            for page in self._stems.get(posixpath.basename(ending), ())
            if f"/{_fold(_without_suffix(page.path))}".endswith(f"/{ending}")
        ]
        found = _nearest(stems, folder) or _nearest(self._names.get(_fold(target), ()), folder)
        return found.id if found else None

    def _at(self, wanted: str) -> LinkTarget | None:
        for spelled in (
            wanted,
            *(wanted + suffix for suffix in _SUFFIXES),
            posixpath.join(wanted, "index.md"),
            posixpath.join(wanted, "README.md"),
        ):
            if (found := self._paths.get(spelled) or self._folded.get(_fold(spelled))) is not None:
                return found
        return None


def _joined(folder: str, target: str) -> str | None:
    """A path within the folder of the corpus; None for one that leads out of it."""
    path = posixpath.normpath(posixpath.join(folder, target))
    return None if path == ".." or path.startswith("../") else path


def _nearest(pages: Sequence[LinkTarget], folder: str) -> LinkTarget | None:
    return next((page for page in pages if posixpath.dirname(page.path) == folder), pages[0] if pages else None)


def _without_suffix(path: str) -> str:
    return next((path.removesuffix(suffix) for suffix in _SUFFIXES if path.endswith(suffix)), path)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()

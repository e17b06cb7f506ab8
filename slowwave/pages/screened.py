"""Words of a memory for a page, or none: what screening calls unsafe is left out of the page and counted."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class PageScreen:
    """Screens one page. ``refused`` are the memories whose words were left out; what was asked once is not screened again."""

    refused: set[str] = field(default_factory=set)
    _known: dict[str, bool] = field(default_factory=dict)

    def passes(self, memory: str, text: str) -> bool:
        """Whether words of a memory may be shown; a heading's are no memory's."""
        from slowwave.texts.screening import unsafe  # not before it is needed: its rules take a moment

        if text not in self._known:
            self._known[text] = not unsafe(text)
        if not self._known[text] and memory:
            self.refused.add(memory)
        return self._known[text]

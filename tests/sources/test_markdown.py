"""Headings, links, blocks and tags of a body; code is none of them."""

from __future__ import annotations

from slowwave.sources.page_files import markdown_page

BODY = """# Title of [[X|the page]]
Text [[A b#Sec|shown]] and ![[Embed#^blk]], `[[no]]`, [md](./a%20b.md#frag), ![picture](x.png), [web](https://example.org/a.md).
Second line [[B]] #tag/one ^para-1

````python
[[code]] #no [x](y.md)
```
still code [[code]]
````

~~~
```
[[code]]
~~~

| a | b |
|---|---|
| [[T\\|x]] | [r][ref] |

[ref]: ../r.md
[[#self]] \\[[escaped]] [note][^1] mail [m](mailto:a@b.example)

[^1]:
    ```csl-json
"""


def test_dory_links_in_code_do_not_count() -> None:
    """The seed's regular expression took a fence within a fence for its end."""
    page = markdown_page(BODY, 5)
    assert [(link.kind, link.target, link.anchor, link.line) for link in page.links] == [
        ("wikilink", "X", "", 5),
        ("wikilink", "A b", "Sec", 6),
        ("embed", "Embed", "^blk", 6),
        ("markdown", "./a b.md", "frag", 6),
        ("wikilink", "B", "", 7),
        ("wikilink", "T", "", 22),
        ("markdown", "../r.md", "", 22),
        ("wikilink", "", "self", 25),
    ]
    assert [(heading.level, heading.text, heading.line) for heading in page.headings] == [(1, "Title of the page", 5)]
    assert page.blocks == ("para-1",)
    assert page.tags == ("tag/one",)
    assert not any("code" in text for _, text in page.prose)


def test_a_link_to_another_kind_of_file_is_none_and_a_name_may_have_a_dot() -> None:
    """A program and a sheet are no pages that could be missing; a wikilink means a page whatever its name ends in."""
    page = markdown_page("[a](a.sol) [b](b.xlsx) [c](c.MD) [d](d) [[v1.beta]] ![[drawing.png]]\n")
    assert [link.target for link in page.links] == ["c.MD", "d", "v1.beta"]

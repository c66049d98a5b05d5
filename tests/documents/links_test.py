"""The relative links of all documents lead to files and headings that exist, and the first document
is short.

    python3 tests/documents/links_test.py [LinksTest.test_links]...
"""
from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent)]
from support.programs import SOURCE_ROOT
from support.skips import run_unittests
from transcripts import all_documents

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"""\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"|^\[[^\]]+\]: (\S+)""", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z]+:")


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub makes of a document's headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"(?ms)^```.*?^```$", "", text), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found[f"{name}-{found[name]}"] = 0
    return set(found)


def broken_links(path: Path, root: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    broken = []
    for match in _LINK.finditer(_CODE.sub("code", text)):
        link = next(group for group in match.groups() if group)
        if _ELSEWHERE.match(link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or not target.is_relative_to(root):
            broken.append(f"{path.relative_to(root)}: {link}: there is no such file")
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            broken.append(f"{path.relative_to(root)}: {link}: there is no such heading")
    return broken


class LinksTest(unittest.TestCase):
    def test_links(self) -> None:
        paths = all_documents(SOURCE_ROOT)
        self.assertGreater(len(paths), 10)
        self.assertEqual([link for path in paths for link in broken_links(path, SOURCE_ROOT)], [])

    def test_what_is_found(self) -> None:
        text = (
            "# One `two` three?\n## Same\n## Same\n"
            "[a](#one-two-three) [b](#same-1) [c](b.md#x) ![d](p/q.svg) [e](https://x.org/y)\n"
            "`[f](none)`\n```\n[g](none)\n# No heading\n```\n"
        )
        with tempfile.TemporaryDirectory(prefix="links-") as name:
            root = Path(name).resolve()
            (root / "p").mkdir()
            (root / "p/q.svg").touch()
            (root / "b.md").write_text("### X\n", encoding="utf-8")
            path = root / "a.md"
            for old, new, message in (
                ("", "", ""),
                ("#same-1", "#same-2", "heading"),
                ("b.md#x", "b.md#y", "heading"),
                ("#one-two-three", "#no-heading", "heading"),
                ("p/q.svg", "q.svg", "file"),
                ("b.md#x", "../b.md", "file"),
            ):
                with self.subTest(new=new):
                    path.write_text(text.replace(old, new), encoding="utf-8")
                    found = broken_links(path, root)
                    self.assertEqual(len(found), 1 if message else 0, found)
                    self.assertTrue(all(link.endswith(message) for link in found), found)

    def test_the_first_document_is_short(self) -> None:
        self.assertLess((SOURCE_ROOT / "README.md").stat().st_size, 8192)


if __name__ == "__main__":
    run_unittests()

"""Tests that tally.h keeps the promises of its last release, released/tally-VERSION.h.

abidiff compares two libraries, which are made from the headers: each function is defined, and does
nothing. A structure may have got new fields at its end, because the caller passes its size. abidiff
cannot tell these from other changes reliably, so they are left out before the comparison. It does
not see enumerators that no function takes, nor names of fields; the parsed headers are compared for
these.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import CHeader, parse_header
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

INCLUDE = SOURCE_ROOT / "lib/include"
RELEASED = SOURCE_ROOT / "tests/abi/released"

TOY_HEADER = """
#include <stddef.h>
#include <stdint.h>
#include <tally/export.h>
#define TALLY_ABI 2
typedef struct tally_thing tally_thing;
typedef struct tally_error tally_error;
typedef struct tally_hit {
  uint32_t size;
  int32_t kind; /* a tally_hit_kind; see there */
  uint64_t sp;
} tally_hit;
typedef struct tally_location {
  const char *file;
  uint64_t address;
} tally_location;
enum tally_hit_kind { TALLY_HIT_FIRST = 0, TALLY_HIT_SECOND = 1 };
TALLY_API uint32_t tally_abi(void);
TALLY_API uint64_t tally_thing_hit(tally_thing *thing, const tally_hit *hit);
TALLY_API tally_error *tally_thing_set(tally_thing *thing, const tally_location *locations,
                                       size_t count,
                                       size_t location_size);
"""


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def body_of(text: str, struct: str) -> re.Match:
    """Finds the fields of a structure in a header without comments."""
    match = re.search(rf"\bstruct {struct} \{{([^{{}}]*)\}}", text)
    assert match, struct
    return match


def stub(text: str, fields: dict) -> str:
    """Returns a C file that defines each function of the header. Of each structure in `fields`, only
    the first so many fields are left."""
    text = without_comments(text)
    for struct, count in fields.items():
        body = body_of(text, struct)
        kept = [field for field in body[1].split(";") if field.strip()][:count]
        text = text[: body.start(1)] + ";".join(kept) + ";" + text[body.end(1) :]
    declarations = re.findall(r"\bTALLY_API\b([^;{]*);", text)
    return text + "".join(f"{each} {{ __builtin_trap(); }}\n" for each in declarations)


def grows(text: str, header: CHeader, struct: str) -> bool:
    """Returns whether the library learns the size of the structure from every caller."""
    first = header.structs[struct][0]
    if first == ("size", ("int", 4, False)):
        return True
    uses = re.findall(rf"\bconst {struct} \*\w+,[^;]*", without_comments(text))
    sized = re.compile(rf"const {struct} \*\w+,\s*size_t count,\s*size_t \w+_size\b")
    return bool(uses) and all(sized.match(use) for use in uses)


def incompatibilities(released: str, current: str) -> list:
    """Returns what breaks a program that was compiled with the released header."""
    old, new = parse_header(released), parse_header(current)
    found = [
        f"{name} was {value}, and is {new.constants.get(name, 'not there')}"
        for name, value in old.constants.items()
        if new.constants.get(name) != value
    ]
    fields = {}
    for struct, was in old.structs.items():
        now = new.structs.get(struct, ())
        names = [[field[0] for field in each] for each in (was, now)]
        if names[1][: len(was)] != names[0]:
            found.append(f"{struct} had the fields {names[0]}, and has {names[1]}")
        elif len(now) > len(was):
            fields[struct] = len(was)
            if not grows(released, old, struct):
                found.append(f"{struct} has a new field, but callers do not pass its size")
    return found + changes_by_abidiff(stub(released, {}), stub(current, fields))


def changes_by_abidiff(old: str, new: str) -> list:
    with tempfile.TemporaryDirectory(prefix="released-") as folder:
        libraries = []
        for name, source in (("released", old), ("current", new)):
            path = Path(folder) / name / "libtally.so"
            path.parent.mkdir()
            (path.parent / "tally.c").write_text(source, encoding="utf-8")
            subprocess.run(
                ["cc", "-g", "-shared", "-fPIC", f"-I{INCLUDE}", "tally.c", "-o", str(path)],
                cwd=path.parent,
                check=True,
            )
            libraries.append(str(path))
        done = subprocess.run(
            ["abidiff", "--no-added-syms", *libraries], capture_output=True, text=True, check=False
        )
    # The status is a set of bits: 1 and 2 are errors of abidiff itself, 4 is a change, 8 a change
    # that is certainly incompatible.
    if done.returncode & 3:
        raise AssertionError(f"abidiff: status {done.returncode}\n{done.stdout}{done.stderr}")
    return [f"abidiff:\n{done.stdout}"] if done.returncode else []


class ReleasedTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("abidiff", "cc")

    def test_the_header(self) -> None:
        released = list(RELEASED.glob("tally-*.h"))
        self.assertEqual(len(released), 1, released)
        current = (INCLUDE / "tally.h").read_text(encoding="utf-8")
        found = incompatibilities(released[0].read_text(encoding="utf-8"), current)
        self.assertFalse(
            found,
            f"tally.h breaks what {released[0].name} promises (see released/README.md):\n"
            + "\n".join(found),
        )
        # A structure that cannot grow would be found only when it has to.
        header = parse_header(current)
        self.assertGreater(len(header.structs), 3)
        for struct in header.structs:
            self.assertTrue(grows(current, header, struct), f"callers do not pass {struct}'s size")

    def test_every_function_is_compared(self) -> None:
        current = (INCLUDE / "tally.h").read_text(encoding="utf-8")
        for text in (TOY_HEADER, current):
            defined = re.findall(r"\b(tally_\w+)\([^;{]*\{ __builtin_trap", stub(text, {}))
            self.assertEqual(sorted(defined), sorted(parse_header(text).functions))

    def changed(self, *changes: tuple) -> list:
        text = TOY_HEADER
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        return incompatibilities(TOY_HEADER, text)

    def test_what_may_be_added(self) -> None:
        self.assertEqual(self.changed(), [])
        abi = "TALLY_API uint32_t tally_abi(void);"
        self.assertEqual(
            self.changed(
                (abi, abi + "\nTALLY_API void tally_thing_free(tally_thing *thing);"),
                ("uint64_t sp;", "uint64_t sp; /* before; after */ uint64_t jump; int64_t more;"),
                ("uint64_t address;", "uint64_t address; const char *name;"),
                ("TALLY_HIT_SECOND = 1 }", "TALLY_HIT_SECOND = 1, TALLY_HIT_THIRD = 2 }"),
                ("uint32_t tally_abi(void)", "uint32_t tally_abi( void )"),
            ),
            [],
        )

    def test_what_breaks_callers(self) -> None:
        for old, new, message in (
            ("TALLY_API uint32_t tally_abi(void);", "", r"1 Removed function.*tally_abi"),
            ("tally_abi(void)", "tally_abi_version(void)", r"1 Removed function.*tally_abi\b"),
            ("uint32_t tally_abi(", "uint64_t tally_abi(", r"return type changed"),
            ("size_t count,", "uint32_t count,", r"parameter 3 .*changed"),
            ("tally_thing *thing, const tally_hit", "int thing, const tally_hit", r"parameter 1"),
            ("const tally_hit *hit", "const tally_hit *hit, int more", r"parameter 3 .*added"),
            ("int32_t kind; ", "int64_t kind; ", r"type size changed"),
            ("uint64_t sp;", "int64_t sp;", r"type of 'uint64_t sp' changed"),
            ("uint64_t sp;", "", r"had the fields .*'sp'"),
            ("uint64_t sp;", "uint64_t stack;", r"had the fields .*'sp'.*'stack'"),
            ("int32_t kind; ", "int32_t tid; int32_t kind; ", r"had the fields .*'tid'"),
            ("TALLY_HIT_SECOND = 1", "TALLY_HIT_SECOND = 2", r"TALLY_HIT_SECOND was 1, and is 2"),
            (", TALLY_HIT_SECOND = 1", "", r"TALLY_HIT_SECOND was 1, and is not there"),
            ("TALLY_ABI 2", "TALLY_ABI 3", r"TALLY_ABI was 2, and is 3"),
        ):
            with self.subTest(old=old, new=new):
                self.assertRegex("\n".join(self.changed((old, new))), f"(?s){message}")

    def test_a_structure_without_a_size(self) -> None:
        unsized = TOY_HEADER.replace(" size_t count,\n", " size_t count\n").replace(
            "size_t location_size);", ");"
        )
        self.assertNotEqual(unsized, TOY_HEADER)
        self.assertEqual(incompatibilities(unsized, unsized), [])
        longer = unsized.replace("uint64_t address;", "uint64_t address; uint64_t more;")
        self.assertEqual(
            incompatibilities(unsized, longer),
            ["tally_location has a new field, but callers do not pass its size"],
        )


if __name__ == "__main__":
    run_unittests()

"""Tests that the ctypes table of the GDB front end agrees with tally.h.

The table is FUNCTIONS in gdb/tally_gdb/_abi.py, a list of (name, [argument types], result type).
The module also holds constants, named as in tally.h without TALLY_. It can be imported without GDB
and without the library.
"""
import ctypes
import importlib.util
import os
import sys
import unittest
from types import ModuleType, SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import CHeader, disagreement, parse_header
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

HEADER = SOURCE_ROOT / "lib/include/tally.h"
TABLE = SOURCE_ROOT / "gdb/tally_gdb/_abi.py"

# The prefixes of the constants that the module mirrors. It holds all constants of a prefix.
KINDS = (
    *("ABI", "TARGET_", "EVENT_", "COLUMN_"),
    *("REGION_", "LOAD_", "HIT_", "TICK_", "LIMIT_"),
)

TOY_HEADER = """
#define TALLY_ABI \\
  1
extern "C" {
typedef struct tally_thing tally_thing; /* TALLY_API int in_a_comment(void); */
typedef struct tally_event {
  uint32_t size;
  const char *text;
} tally_event;
enum tally_event_kind {
  TALLY_EVENT_FIRST = 0, /* a comment, with a comma */
  TALLY_EVENT_SECOND =
      0x10
};
TALLY_API uint32_t tally_abi(void);
TALLY_API tally_error *tally_thing_new(const char *name,
                                       const char *const *words, size_t count,
                                       tally_thing **thing);
TALLY_API void tally_thing_push(tally_thing *thing, const tally_event *event, double weight);
TALLY_API const uint64_t *tally_thing_counts(const tally_thing *thing, int64_t from);
}
"""


class Event(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("text", ctypes.c_char_p)]


class Thing(ctypes.Structure):
    pass


P = ctypes.POINTER
TOY_TABLE = [
    ("tally_abi", [], ctypes.c_uint32),
    (
        "tally_thing_new",
        [ctypes.c_char_p, P(ctypes.c_char_p), ctypes.c_size_t, P(P(Thing))],
        ctypes.c_void_p,
    ),
    ("tally_thing_push", [ctypes.c_void_p, P(Event), ctypes.c_double], None),
    ("tally_thing_counts", [P(Thing), ctypes.c_int64], P(ctypes.c_uint64)),
]


def differences(header: CHeader, table: list) -> list:
    found = []
    names = [row[0] for row in table]
    found += [f"{name} is twice in the table" for name in set(names) if names.count(name) > 1]
    found += [f"{name} is not in the table" for name in header.functions if name not in names]
    for name, arguments, result in (row[:3] for row in table):
        function = header.functions.get(name)
        if function is None:
            found.append(f"{name} is not in the header")
            continue
        if len(arguments) != len(function.arguments):
            found.append(f"{name} takes {len(function.arguments)} arguments, not {len(arguments)}")
            continue
        pairs = [
            (f"argument {i + 1}", *pair)
            for i, pair in enumerate(zip(function.arguments, arguments))
        ]
        for what, kind, python in pairs + [("result", function.result, result)]:
            wrong = disagreement(kind, python, header.structs)
            if wrong:
                found.append(f"{name}, {what}: {wrong}")
    return found


def constant_differences(header: CHeader, module: object) -> list:
    theirs = {
        name.removeprefix("TALLY_"): value
        for name, value in header.constants.items()
        if name.removeprefix("TALLY_").startswith(KINDS)
    }
    ours = {name: value for name, value in vars(module).items() if name.startswith(KINDS)}
    return [
        f"{name} is {theirs.get(name, 'not there')} in the header, "
        f"{ours.get(name, 'not there')} in the table"
        for name in sorted(theirs.keys() | ours.keys())
        if theirs.get(name) != ours.get(name)
    ]


def load_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tally_abi_under_test", TABLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CtypesTableTest(unittest.TestCase):
    def test_the_table_matches_the_header(self) -> None:
        if not TABLE.exists():
            self.skipTest("there is no tally_gdb/_abi.py yet")
        found = differences(
            parse_header(HEADER.read_text(encoding="utf-8")), load_module().FUNCTIONS
        )
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_the_constants(self) -> None:
        header = parse_header(HEADER.read_text(encoding="utf-8"))
        self.assertEqual(header.constants["TALLY_ERROR_INTERNAL"], 12)
        for kind in KINDS:
            self.assertTrue([name for name in header.constants if name.startswith(f"TALLY_{kind}")])
        found = constant_differences(header, load_module())
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_right_and_wrong_constants(self) -> None:
        header = parse_header(TOY_HEADER)
        right = {"ABI": 1, "EVENT_FIRST": 0, "EVENT_SECOND": 16, "OTHER": 3}
        self.assertEqual(constant_differences(header, SimpleNamespace(**right)), [])
        for changed, message in (
            ({"EVENT_SECOND": 1}, "EVENT_SECOND is 16 .* 1 in the table"),
            ({"EVENT_THIRD": 2}, "EVENT_THIRD is not there in the header"),
            ({"ABI": 2}, "ABI is 1 .* 2 in the table"),
        ):
            with self.subTest(changed=changed):
                found = constant_differences(header, SimpleNamespace(**{**right, **changed}))
                self.assertEqual(len(found), 1, found)
                self.assertRegex(found[0], message)
        del right["EVENT_FIRST"]
        found = constant_differences(header, SimpleNamespace(**right))
        self.assertRegex(found[0], "EVENT_FIRST is 0 .* not there in the table")

    def test_the_header_is_understood(self) -> None:
        text = HEADER.read_text(encoding="utf-8")
        header = parse_header(text)
        self.assertEqual(len(header.functions), text.count("\nTALLY_API "))

    def test_a_correct_table(self) -> None:
        self.assertEqual(differences(parse_header(TOY_HEADER), TOY_TABLE), [])

    def test_wrong_tables(self) -> None:
        header = parse_header(TOY_HEADER)
        wrong_event = type(
            "WrongEvent",
            (ctypes.Structure,),
            {"_fields_": [("size", ctypes.c_uint64), ("text", ctypes.c_char_p)]},
        )
        for row, changed, message in (
            (0, ("tally_abi", [], ctypes.c_int), "result: uint32_t is not"),
            (0, ("tally_abi", [ctypes.c_int], ctypes.c_uint32), "takes 0 arguments, not 1"),
            (0, ("tally_other", [], ctypes.c_uint32), "not in the header"),
            (
                1,
                (
                    "tally_thing_new",
                    [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, P(ctypes.c_void_p)],
                    ctypes.c_void_p,
                ),
                "argument 2",
            ),
            (
                1,
                (
                    "tally_thing_new",
                    [ctypes.c_char_p, P(ctypes.c_char_p), ctypes.c_uint32, P(ctypes.c_void_p)],
                    ctypes.c_void_p,
                ),
                "argument 3",
            ),
            (
                2,
                ("tally_thing_push", [ctypes.c_void_p, P(wrong_event), ctypes.c_double], None),
                "tally_event.size",
            ),
            (
                2,
                ("tally_thing_push", [ctypes.c_void_p, P(Event), ctypes.c_float], None),
                "argument 3",
            ),
            (
                2,
                ("tally_thing_push", [ctypes.c_void_p, P(Event), ctypes.c_double], ctypes.c_int),
                "result: void",
            ),
            (
                3,
                ("tally_thing_counts", [P(Thing), ctypes.c_uint64], P(ctypes.c_uint64)),
                "argument 2",
            ),
            (3, ("tally_thing_counts", [P(Event), ctypes.c_int64], P(ctypes.c_uint64)), "opaque"),
        ):
            with self.subTest(changed=changed):
                table = TOY_TABLE[:row] + [changed] + TOY_TABLE[row + 1 :]
                self.assertIn(message, "\n".join(differences(header, table)))

    def test_constructs_that_the_header_must_not_hold(self) -> None:
        for bad in (
            "int tally_without_api(int x);",
            "TALLY_API int tally_unnamed(int);",
            "TALLY_API std::string tally_cpp(void);",
            "enum tally_bad { TALLY_BAD };",
        ):
            with self.subTest(bad=bad), self.assertRaises(ValueError):
                parse_header(TOY_HEADER + bad + "\n")


if __name__ == "__main__":
    run_unittests()

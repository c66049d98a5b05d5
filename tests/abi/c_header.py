"""Parses tally.h: functions, structures and constants, in the plain style in which it is written.

A type is a nested tuple: ("int", size, signed), ("float", size), ("void",), ("char",),
("struct", name), ("pointer", type), ("function", result, arguments…). Sizes of types such as long
are those of this machine's ABI, from ctypes.
"""
from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

Type = tuple

_INTEGERS = {
    "bool": ("int", 1, False),
    "_Bool": ("int", 1, False),
    "signed char": ("int", 1, True),
    "unsigned char": ("int", 1, False),
    "short": ("int", 2, True),
    "int": ("int", 4, True),
    "unsigned": ("int", 4, False),
    "unsigned int": ("int", 4, False),
    "long": ("int", ctypes.sizeof(ctypes.c_long), True),
    "unsigned long": ("int", ctypes.sizeof(ctypes.c_long), False),
    "size_t": ("int", ctypes.sizeof(ctypes.c_size_t), False),
    "ssize_t": ("int", ctypes.sizeof(ctypes.c_ssize_t), True),
    "pid_t": ("int", 4, True),
    **{f"int{bits}_t": ("int", bits // 8, True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": ("int", bits // 8, False) for bits in (8, 16, 32, 64)},
}
_SCALARS = {
    **_INTEGERS,
    "void": ("void",),
    "char": ("char",),
    "double": ("float", 8),
    "float": ("float", 4),
}


_MACROS = {"SIZE_MAX": ctypes.c_size_t(-1).value}


@dataclass(frozen=True)
class CFunction:
    name: str
    arguments: tuple[Type, ...]
    result: Type


@dataclass(frozen=True)
class CHeader:
    functions: dict[str, CFunction]
    structs: dict[str, tuple[tuple[str, Type], ...]]  # the fields; opaque structures are absent
    constants: dict[str, int]  # enumerators, and #define NAME NUMBER


def parse_header(text: str) -> CHeader:
    """Parses a header. Raises ValueError for what it cannot read: nothing is skipped."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    constants = {
        match[1]: _MACROS.get(match[2]) or int(match[2], 0)
        for match in re.finditer(
            r"^#define[ \t]+(\w+)(?:[ \t]|\\\n)+(\w+)[ \t]*$", text, re.MULTILINE
        )
    }
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.MULTILINE)
    functions: dict[str, CFunction] = {}
    for match in re.finditer(r"\bTALLY_API\b([^;{]*)[;{]", text):
        function = _function(" ".join(match[1].split()))
        if function.name in functions:
            raise ValueError(f"{function.name} is declared twice")
        functions[function.name] = function
    undecorated = re.search(
        r"^(?!TALLY_API)[^\n;{}]*\btally_\w+\s*\([^;]*\)\s*;", text, re.MULTILINE
    )
    if undecorated and "TALLY_API" not in undecorated[0]:
        before = text[: undecorated.start()].rstrip()
        if before.endswith((";", "}", "{")) or not before:
            raise ValueError(f"declared without TALLY_API: {' '.join(undecorated[0].split())}")
    structs = {
        match[1]: tuple(_field(field) for field in match[2].split(";") if field.strip())
        for match in re.finditer(r"\bstruct (\w+) \{([^{}]*)\}", text)
    }
    for match in re.finditer(r"\benum (?:\w+ )?\{([^{}]*)\}", text):
        for entry in filter(None, (each.strip() for each in match[1].split(","))):
            value = re.fullmatch(r"(\w+)\s*=\s*(\d+|0[xX][0-9a-fA-F]+)", entry)
            if not value:
                raise ValueError(f"an enumerator without an explicit number: {entry}")
            constants[value[1]] = int(value[2], 0)
    return CHeader(functions, structs, constants)


def _function(declaration: str) -> CFunction:
    match = re.fullmatch(r"(.*?)\b(tally_\w+) ?\((.*)\)", declaration)
    if not match:
        raise ValueError(f"not a function in this header's style: {declaration}")
    result, name, arguments = match[1], match[2], match[3].strip()
    types = (
        ()
        if arguments in ("", "void")
        else tuple(_named(argument)[1] for argument in arguments.split(","))
    )
    return CFunction(name, types, _type(result))


def _field(text: str) -> tuple[str, Type]:
    text = " ".join(text.split())
    if match := re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", text):
        arguments = tuple(_named(argument)[1] for argument in match[3].split(","))
        return match[2], ("function", _type(match[1]), *arguments)
    return _named(text)


def _named(text: str) -> tuple[str, Type]:
    """Splits `const char *const *names` into its name and its type. Every argument has a name."""
    text = text.strip()
    match = re.fullmatch(r"(.*?[ *])(\w+)(\[\d*\])?", text)
    if not match or text in _SCALARS:
        raise ValueError(f"an argument or field without a name: {text}")
    kind = _type(match[1])
    return match[2], ("pointer", kind) if match[3] else kind


def _type(text: str) -> Type:
    words = re.sub(r"\b(?:const|volatile|restrict|struct)\b", " ", text)
    stars = words.count("*")
    base = " ".join(words.replace("*", " ").split())
    kind: Type
    if base in _SCALARS:
        kind = _SCALARS[base]
    elif base.startswith("enum "):
        kind = ("int", 4, False)
    elif re.fullmatch(r"tally_\w+", base):
        kind = ("struct", base)
    else:
        raise ValueError(f"unknown type: {text.strip()!r}")
    for _ in range(stars):
        kind = ("pointer", kind)
    return kind


def disagreement(kind: Type, python: object, structs: dict) -> str | None:
    """Returns why a ctypes type does not represent a C type, or None if it does.

    c_void_p represents any pointer, c_char_p a pointer to char, unsigned char or void.
    """
    shown = getattr(python, "__name__", repr(python))
    wrong = f"{describe(kind)} is not {shown}"
    if python is None:
        return None if kind == ("void",) else wrong
    if not isinstance(python, type):
        return f"{shown} is not a ctypes type"
    if kind[0] == "function":
        types = (getattr(python, "_restype_", None), *getattr(python, "_argtypes_", ()))
        if len(types) != len(kind) - 1:
            return wrong
        found = (disagreement(each, type_, structs) for each, type_ in zip(kind[1:], types))
        return next(filter(None, found), None)
    if kind[0] == "pointer":
        target = kind[1]
        if issubclass(python, ctypes.c_void_p):
            return None
        if issubclass(python, ctypes.c_char_p):
            plain = (("char",), ("void",), ("int", 1, False))
            return None if target in plain else wrong
        if issubclass(python, ctypes._Pointer):  # POINTER()'s types have no public base
            return disagreement(target, python._type_, structs)
        return wrong
    if kind[0] == "struct":
        if not issubclass(python, ctypes.Structure):
            return wrong
        return _struct_disagreement(kind[1], python, structs)
    if kind[0] == "char":
        return None if issubclass(python, (ctypes.c_char, ctypes.c_byte, ctypes.c_ubyte)) else wrong
    if kind[0] == "float":
        floats = {8: ctypes.c_double, 4: ctypes.c_float}
        return None if python is floats[kind[1]] else wrong
    if kind[0] == "int" and issubclass(python, ctypes._SimpleCData):
        if python is ctypes.c_bool:
            return None if kind[1] == 1 else wrong
        if python in (ctypes.c_double, ctypes.c_float, ctypes.c_char_p, ctypes.c_void_p):
            return wrong
        signed = python(-1).value == -1
        return None if (ctypes.sizeof(python), signed) == kind[1:] else wrong
    return wrong


def _struct_disagreement(name: str, python: type, structs: dict) -> str | None:
    fields = structs.get(name)
    if fields is None:  # opaque: Python must not define its fields
        return (
            f"{name} is opaque, {python.__name__} has fields"
            if getattr(python, "_fields_", None)
            else None
        )
    theirs = list(getattr(python, "_fields_", ()))
    if [field[0] for field in theirs] != [field[0] for field in fields]:
        return f"fields of {name}: {[f[0] for f in fields]}, not {[f[0] for f in theirs]}"
    for (field, kind), (_, type_) in zip(fields, theirs):
        wrong = disagreement(kind, type_, structs)
        if wrong:
            return f"{name}.{field}: {wrong}"
    return None


def describe(kind: Type) -> str:
    if kind[0] == "function":
        result, *arguments = (describe(each) for each in kind[1:])
        return f"{result} (*)({', '.join(arguments)})"
    if kind[0] == "pointer":
        return f"{describe(kind[1])} *"
    if kind[0] == "int":
        return f"{'' if kind[2] else 'u'}int{kind[1] * 8}_t"
    return (
        kind[1]
        if kind[0] == "struct"
        else kind[0]
        if kind[0] != "float"
        else {8: "double", 4: "float"}[kind[1]]
    )

"""Source coverage on the command line: an lcov tracefile read as a profile, and the XML that other
tools read."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_annotate import annotate
from support.profiles import ProfileCase, run_tally
from support.programs import SOURCE_ROOT, command_line
from support.skips import need_tools, run_unittests

# The body of f ends where main begins; line 9 belongs to main alone; line 5 did not run.
TRACEFILE = """\
TN:
SF:{folder}/src/a.c
FN:1,f
FN:7,main
FNDA:3,f
FNDA:1,main
BRDA:2,0,0,3
BRDA:2,0,1,0
BRDA:8,0,0,1
BRDA:8,0,1,-
DA:1,3
DA:2,30
DA:5,0
DA:7,1
DA:8,1
DA:9,1
end_of_record
TN:
SF:{folder}/src/b<&>.c
DA:1,5
end_of_record
"""
SUPPORT = os.path.join(SOURCE_ROOT, "tests", "support")
CATALOG = """<?xml version="1.0"?>
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <system systemId="http://cobertura.sourceforge.net/xml/coverage-04.dtd" uri="file://{dtd}"/>
</catalog>
"""


class CoverageCase(ProfileCase):
    def setUp(self) -> None:
        super().setUp()
        self.tracefile = self.put("x.info", TRACEFILE.format(folder=self.folder))

    def put(self, name: str, text: str) -> str:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)


class AsProfile(CoverageCase):
    def test_report(self) -> None:
        table = self.report(self.tracefile)
        self.assertEqual((table["events"], table["totals"]), (["Executions"], [41]))
        self.assertEqual(
            [
                (row["name"], row["self"], os.path.basename(row["file"]))
                for row in table["functions"]
            ],
            [("f", [33], "a.c"), ("", [5], "b<&>.c"), ("main", [3], "a.c")],
        )
        self.assertIn("Executions", self.tally("report", self.tracefile).stdout)

    def test_annotate(self) -> None:
        source = self.put("src/a.c", "".join(f"line {i};\n" for i in range(1, 10)))
        done = self.tally("annotate", self.tracefile, "f")
        self.assertIn("line 2;", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^.*\b30\b.*line 2;$")
        self.assertTrue(os.path.exists(source))

    def test_callgrind(self) -> None:
        """callgrind_annotate reads the file and reports the same counts."""
        out = self.path("callgrind.out.x")
        done = self.tally("convert", self.tracefile, "-o", out)
        self.assertEqual(
            done.stderr,
            "tally: not in callgrind: branches (the counts of lines and functions are written)\n",
        )
        self.assertEqual(self.tally("validate", out).stdout, "")
        again = self.report(out)["functions"]
        for row in again:
            row["name"] = row["name"].replace("???", "")
        self.assertEqual(again, self.report(self.tracefile)["functions"])
        table = annotate(out)
        self.assertEqual((table.events, table.totals), (("Executions",), (41,)))
        self.assertEqual(
            table.costs(),
            {
                (f"{self.folder}/src/a.c", "f"): (33,),
                (f"{self.folder}/src/a.c", "main"): (3,),
                (f"{self.folder}/src/b<&>.c", "???"): (5,),
            },
        )


class Xml(CoverageCase):
    def written(self, name: str) -> str:
        out = self.path(name + ".xml")
        done = run_tally("convert", self.tracefile, "-o", out, "--to", name)
        if "unknown format" in done.stderr:
            raise unittest.SkipTest("built without pugixml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"tally: not in {name}: the counts of branches ", done.stderr)
        return out

    def xmllint(self, *words: str) -> None:
        need_tools("xmllint")
        catalog = self.put("catalog.xml", CATALOG.format(dtd=f"{SUPPORT}/coverage-04.dtd"))
        done = subprocess.run(
            ["xmllint", "--nonet", "--noout", *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "XML_CATALOG_FILES": catalog},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "error|warning|fails")

    def test_cobertura_is_valid(self) -> None:
        self.xmllint("--dtdvalid", f"{SUPPORT}/coverage-04.dtd", self.written("cobertura"))

    def test_sonarqube_is_valid(self) -> None:
        self.xmllint("--schema", f"{SUPPORT}/sonarqube.xsd", self.written("sonarqube"))

    def test_timestamp(self) -> None:
        """SOURCE_DATE_EPOCH, if it is a number, is the time, so that builds are reproducible."""
        self.written("cobertura")
        for epoch, expected in (("86400", "86400000"), ("0", "0")):
            done = subprocess.run(
                [command_line(), "convert", self.tracefile, "-o", "-", "--to", "cobertura"],
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
                env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
            )
            self.assertIn(f'timestamp="{expected}"', done.stdout)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "yesterday"}
        done = subprocess.run(
            [command_line(), "convert", self.tracefile, "-o", "-", "--to", "cobertura"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env=environment,
        )
        self.assertRegex(done.stdout, r'timestamp="\d{13}"')

    def test_a_profile_is_not_coverage(self) -> None:
        self.written("cobertura")
        folded = self.put("s.folded", "main;f 3\n")
        done = run_tally("convert", folded, "-o", self.path("s.xml"), "--to", "cobertura")
        self.assertEqual(
            (done.returncode, done.stderr.splitlines()[0]),
            (1, f"tally: {folded}: the format cobertura holds coverage, but this is a profile"),
        )
        self.assertFalse(os.path.exists(self.path("s.xml")))


if __name__ == "__main__":
    run_unittests()

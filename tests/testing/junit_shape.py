"""The shape of a JUnit file, as the schema of Jenkins' xUnit plugin (junit-10.xsd) has it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_COUNT = re.compile(r"\d+")
_TIME = re.compile(r"\d+(\.\d+)?")
_ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "errors", "disabled", "skipped"}, set()),
    "testsuite": (
        {"name", "time", "tests", "failures", "errors", "skipped", "timestamp", "hostname", "id"},
        {"name", "tests"},
    ),
    "testcase": ({"name", "classname", "time", "assertions", "status"}, {"name", "classname"}),
    "properties": (set(), set()),
    "property": ({"name", "value"}, {"name", "value"}),
    "failure": ({"message", "type"}, set()),
    "skipped": ({"message", "type"}, set()),
}
_CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase", "system-out", "system-err"],
    "testcase": ["properties", "skipped", "error", "failure", "system-out", "system-err"],
    "properties": ["property"],
    "property": [],
    "failure": [],
    "skipped": [],
}


def check(text: str) -> ElementTree.Element:
    """The root, if the document has the shape and its counts are those of its contents."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    _element(root)
    for place in (root, *root.iter("testsuite")):
        assert int(place.attrib["tests"]) == len(list(place.iter("testcase")))
        assert int(place.attrib["failures"]) == len(list(place.iter("failure")))
        assert int(place.attrib["skipped"]) == len(list(place.iter("skipped")))
        assert int(place.attrib["errors"]) == len(list(place.iter("error")))
    return root


def _element(element: ElementTree.Element) -> None:
    allowed, required = _ATTRIBUTES[element.tag]
    assert required <= set(element.attrib) <= allowed, element.attrib
    for key, value in element.attrib.items():
        if key in ("tests", "failures", "errors", "skipped"):
            assert _COUNT.fullmatch(value)
        if key == "time":
            assert _TIME.fullmatch(value)
    for child in element:
        assert child.tag in _CHILDREN[element.tag], f"{child.tag} in {element.tag}"
        _element(child)

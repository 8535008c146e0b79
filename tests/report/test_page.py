"""The page of a real run, in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fwgen.cli.main import run
from fwgen.emulate import RunOptions, open_build, run_build
from fwgen.report.page import write_report

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.nvdla"
SECTIONS = ("memory", "lifetimes", "timeline", "roofline", "size", "stack", "placement", "facts")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    *(
        "--no-default-browser-check",
        "--disable-extensions",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ),
)

# Put around the page by the test: what the browser complains of, and what it measured.
BEFORE = """<script>
var complaints = [];
addEventListener("error", (e) => complaints.push(String(e.message || e.target.src)), true);
console.error = console.warn = (...parts) => complaints.push(parts.join(" "));
addEventListener("securitypolicyviolation", (e) => complaints.push(e.blockedURI));
</script>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
"""
AFTER = """<script>
const outside = (e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
const marks = {};
for (const s of document.querySelectorAll("section")) {
  const tips = [...s.querySelectorAll(".mark")].map((m) => m.getAttribute("aria-label"));
  marks[s.id] = {marks: tips.length, empty: tips.filter((t) => !t).length,
    rows: s.querySelectorAll("tbody tr").length, charts: s.querySelectorAll("svg").length};
}
const first = document.querySelector("#timeline [data-op]");
first.dispatchEvent(new PointerEvent("pointerenter", {clientX: 390, clientY: 300}));
const tip = document.getElementById("tip");
const result = {complaints, marks, width: innerWidth,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  outside: [...document.querySelectorAll("body *")]
    .filter((e) => outside(e) && !e.closest(".scroll")).map((e) => e.outerHTML.slice(0, 80)),
  labels: [...document.querySelectorAll("svg")].flatMap((svg) => {
    const limit = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((t) => {
      const box = t.getBoundingClientRect();
      return box.left < limit.left - 1 || box.right > limit.right + 1
        || box.top < limit.top - 1 || box.bottom > limit.bottom + 1;
    }).map((t) => t.textContent);
  }),
  tip: tip.textContent, tipOutside: outside(tip),
  lit: document.querySelectorAll(".lit").length};
parent.postMessage(JSON.stringify(result), "*");
</script>"""
# A browser's window is at least 500 wide, a frame is not.
FRAME = """<body><pre></pre><script>addEventListener("message", (e) => {
  document.querySelector("pre").textContent = "MEASURED" + e.data + "END";
});</script><iframe src="%s" style="width: %dpx; height: 900px; border: 0"></iframe>"""

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("report") / "build"
    assert run(["build", "-q", "-b", "mps2-an385", str(MODEL), "-o", str(build)]) == 0
    return build


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    file = folder.parent / "page.html"
    assert run(["run", "-q", str(folder), "--report", str(file)]) == 0
    return file


class _Links(HTMLParser):
    """What a page would load, and the targets and places of its links."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loads += [v for k in ("src", "href") if (v := values.get(k))]
        self.ids += [v for k, v in attrs if k == "id" and v]


def test_profile_adds_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["run", "-q", str(folder), "--profile", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)["profile"]
    operations = profile["operations"]
    assert [o["index"] for o in operations] == list(range(len(operations)))
    assert all(
        o["cycles"] if "cycles" in o else o["end_cycle"] > o["start_cycle"] for o in operations
    )
    # All but what happens before the first operation and after the last.
    assert 0.9 < sum(o["share"] for o in operations) <= 1
    ticks = sum(o["ticks"] for o in operations)
    assert 0.9 * profile["duration_ticks"] < ticks <= profile["duration_ticks"]
    # The board's accelerator and timer have the same clock; nothing counts twice.
    cpu = sum(o["cpu_ticks"] for o in operations)
    assert cpu + profile["busy_cycles"] == pytest.approx(ticks, abs=len(operations))
    assert run(["run", "-q", str(folder), "--profile"]) == 0
    out = capsys.readouterr().out
    assert "SHARE" in out and operations[0]["name"] in out


def test_the_page_is_complete_and_needs_nobody(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = _Links()
    links.feed(text)
    assert sorted(set(links.ids)) == sorted({*SECTIONS, "tip"})
    assert len(links.ids) == len(set(links.ids))
    assert set(links.loads) == {"data:,", *(f"#{name}" for name in SECTIONS)}
    assert "http" not in re.sub(r"<script>.*</script>", "", text, flags=re.DOTALL)
    info = json.loads((folder / "build_info.json").read_text())
    assert info["build_id"] in text
    assert str(folder) not in text


def test_the_same_run_gives_the_same_bytes(folder: Path) -> None:
    report = run_build(open_build(folder), RunOptions(profile=True))
    pages = [folder.parent / name for name in ("one.html", "two.html")]
    for page in pages:
        write_report(folder, page, report.folder.board, report.profile)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_page_without_a_run_says_what_is_missing(folder: Path) -> None:
    assert run(["report", "-q", str(folder)]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.count("Nothing was run for this page") == 2
    assert 'id="lifetimes"' in text
    (folder / "size.json").rename(folder / "size.kept")
    try:
        assert run(["report", "-q", str(folder)]) == 2
    finally:
        (folder / "size.kept").rename(folder / "size.json")


def _browse(page: Path, width: int, folder: Path) -> dict[str, object]:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no browser: install Debian's chromium to look at the page")
    text = page.read_text(encoding="utf-8")
    wrapped = folder / f"wrapped-{width}.html"
    text = text.replace("<head>", "<head>" + BEFORE, 1).replace("</body>", AFTER + "</body>", 1)
    wrapped.write_text(text, encoding="utf-8")
    frame = folder / f"frame-{width}.html"
    frame.write_text(FRAME % (wrapped.name, width), encoding="utf-8")
    done = subprocess.run(
        [
            browser,
            *QUIET,
            f"--user-data-dir={folder / f'browser-{width}'}",
            "--window-size=1400,1000",
            "--dump-dom",
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    measured = re.search("MEASURED(.*)END</pre>", done.stdout)
    assert measured is not None, done.stdout[-500:] + done.stderr[-500:]
    result: dict[str, object] = json.loads(
        measured.group(1).replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    )
    return result


@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_it(page: Path, tmp_path: Path, width: int) -> None:
    seen = _browse(page, width, tmp_path)
    assert seen["width"] == width
    assert seen["complaints"] == []
    assert seen["overflow"] == 0 and seen["outside"] == [] and seen["labels"] == []
    marks = seen["marks"]
    assert isinstance(marks, dict) and tuple(marks) == SECTIONS
    assert all(entry["empty"] == 0 for entry in marks.values())
    for name in ("memory", "lifetimes", "timeline", "roofline", "size", "stack"):
        assert marks[name]["marks"] > 2 and marks[name]["charts"] and marks[name]["rows"], name
    # A pointer over an operation tells it, and lights it in the other drawings.
    assert "cycles" in str(seen["tip"]) and not seen["tipOutside"]
    assert isinstance(seen["lit"], int) and seen["lit"] >= 1

#!/usr/bin/env python3
"""Opens the page of `uvmsim report` in headless Chromium and uses it: no errors, no network, charts drawn, a phone's width,
the keyboard, light and dark, no JavaScript. Exits with 77, which is "skipped", where there is no Chromium.

usage: page_test.py UVMSIM [--pictures DIR]    with --pictures, screenshots for the README go to DIR
"""
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DESKTOP, PHONE = (1280, 900), (390, 844)

# Runs in the page, after it has drawn itself; what it finds is read from the dumped document.
PROBE = """
<script>
addEventListener("load", () => setTimeout(() => {
  const found = {};
  const drawn = (canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 0) return true;
    return false;
  };
  const canvases = [...document.querySelectorAll("canvas")];
  found.ready = document.documentElement.dataset.ready === "true";
  found.canvases = canvases.length;
  found.blank = canvases.filter((c) => c.width === 0 || !drawn(c)).length;
  found.sections = [...document.querySelectorAll("section")].map((s) => s.id);
  found.links = document.querySelectorAll("nav a").length;
  found.resources = performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:"));
  found.width = innerWidth;
  found.overflow = document.documentElement.scrollWidth - innerWidth;
  found.background = getComputedStyle(document.body).backgroundColor;
  const focusable = [...document.querySelectorAll("a[href], select, summary, [tabindex]")].filter((e) => e.checkVisibility());
  found.focusable = focusable.every((e) => { e.focus(); return document.activeElement === e; });
  const plot = document.querySelector(".plot");
  if (plot) {
    plot.focus();
    const value = () => plot.querySelector(".u-legend .u-value").textContent;
    const press = (key) => plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    for (let i = 0; i < 5; ++i) press("ArrowRight");
    found.moved = value();
  }
  found.cut = [...document.querySelectorAll("nav, .stalls")].filter((e) => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1
    || e.scrollWidth > e.clientWidth + 1).map((e) => e.className || e.tagName);
  found.ran = document.querySelector("#summary dl")?.textContent;
  found.legend = document.querySelector("#memory .u-legend").textContent;
  found.map = [...document.querySelectorAll("#sweep1 .map th[scope=row]")].map((e) => e.textContent);
  const gantt = document.querySelector(".gantt canvas");
  if (gantt) {
    gantt.focus();
    gantt.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
    found.told = document.querySelector(".told").textContent;
  }
  const frontier = [...document.querySelectorAll("figure")].find((f) => f.textContent.startsWith("Fastest of each kind"));
  const over = frontier?.querySelector(".u-over");
  const opened = () => document.querySelector("#comparison td details[open] code");
  const at = over?.getBoundingClientRect();
  for (let y = 0; over && y < at.height && !opened(); y += 8)
    for (let x = 0; x < at.width && !opened(); x += 8)
      over.dispatchEvent(new MouseEvent("click", { clientX: at.left + x, clientY: at.top + y, bubbles: true }));
  found.opened = opened()?.textContent ?? "";
  parent.postMessage(JSON.stringify(found), "*");
}, 500));
</script>
"""

# Holds the page in a frame: a window cannot be as narrow as a phone.
FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><body style="margin:0">
<script>addEventListener("message", (event) => {
  const pre = document.createElement("pre");
  pre.id = "found";
  pre.textContent = event.data;
  document.body.append(pre);
});</script>
<iframe src="%s" style="border:0;display:block;width:%dpx;height:%dpx"></iframe>
"""


# A frame without allow-scripts: scripting is off in it. What it finds: the width of the bars of the fallback picture.
STILL = """<!doctype html><iframe sandbox="allow-same-origin" srcdoc="%s" style="width:800px;height:600px"></iframe>
<script>addEventListener("load", () => {
  const pre = document.createElement("pre");
  pre.id = "found";
  const bars = [...document.querySelector("iframe").contentDocument.querySelectorAll("svg rect[y='0']")];
  pre.textContent = bars.reduce((sum, bar) => sum + bar.getBoundingClientRect().width, 0);
  document.body.append(pre);
});</script>
"""


def chromium():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


def browse(page, size, *extra):
    """Standard output and the console's lines."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
             "--virtual-time-budget=4000", f"--window-size={size[0]},{size[1]}", *extra, page.as_uri()],
            capture_output=True, text=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def framed(page, size, section=""):
    frame = page.with_name("frame.html")
    frame.write_text(FRAME % (page.name + section, *size))
    return frame


def probe(page, size, *extra):
    """What PROBE finds on `page` in a frame of that size."""
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    dump, console = browse(framed(probed, size), size, "--dump-dom", *extra)
    found = re.search(r'<pre id="found">(.*?)</pre>', dump, re.DOTALL)
    assert found, f"the page did not run: {console}"
    return json.loads(html.unescape(found[1])), console


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def make_page(uvmsim, folder):
    """A run that swaps, a sweep, and what `validate --json`, `compare --json` and `analyse --json` print."""
    run(uvmsim, "run", "v100_dgx1", "--quiet", "-o", folder / "run", *[f"--set={value}" for value in SMALL])
    run(uvmsim, "sweep", "vector_add_v100", "--quiet", "--sweep", "driver.uvm_perf_prefetch_threshold=1,51",
        "--sweep", "driver.uvm_perf_fault_batch_count=64,128,256", "-o", folder / "sweep")
    (folder / "scores.json").write_text(json.dumps(SCORES))
    (folder / "compared.json").write_text(json.dumps(COMPARED))
    (folder / "views.json").write_text(run(uvmsim, "analyse", "squeezenet1_1", "--set", "workload.batch=2", "--json"))
    run(uvmsim, "report", folder / "run", folder / "sweep", folder / "scores.json", folder / "compared.json",
        folder / "views.json", "-o", folder / "report.html", "--title", "A report & <its> title")
    return folder / "report.html"


# ResNet-1001 on one GPU with a small memory.
SMALL = ("machine.gpus=1", "workload.batch=2", "machine.gpu.usable_memory=1 GiB", "run.warmup=1", "run.iterations=1")
# For the pictures: larger than a V100-32GB.
LARGE = ("machine.gpus=1", "workload.batch=60", "run.warmup=1", "run.iterations=2",
         "description=ResNet-1001 fp32, batch 60, on one V100-32GB under Unified Memory")
SCORES = {"summary": {"values": 2, "inside": 1, "median_error": 0.05},
          "families": [{"family": "a", "title": "A family", "role": "validation", "values": 2, "inside": 1,
                        "median_error": 0.05, "worst_error": -0.4}],
          "values": [{"family": "a", "case": "one", "value": "time", "predicted": 1.05, "measured": 1, "unit": "s",
                      "error": 0.05, "inside": True, "failure": ""},
                     {"family": "a", "case": "two", "value": "time", "predicted": 0.6, "measured": 1, "unit": "s",
                      "error": -0.4, "inside": False, "failure": ""}]}
COMPARED = {"experiment": "compared", "in_core": {"policy": "in_core", "completed": True, "duration_s": 1.0},
            "policies": [{"policy": "default", "set": [], "completed": True, "duration_s": 3.0, "h2d_bytes": 4000000000,
                          "points": [{"memory_bytes": 2000000000, "completed": True, "duration_s": 4.0, "family": "swap"},
                                     {"memory_bytes": 4000000000, "completed": True, "duration_s": 1.5, "family": "swap"}]},
                         {"policy": "</script><b>bad", "set": {}, "completed": False, "error": "out of memory"}]}


def check(page):
    expected = {"summary", "time", "memory", "rates", "links", "tensors", "stalls", "sweep1", "comparison", "validation",
                "memory1"}
    backgrounds = set()
    for size in (DESKTOP, PHONE):
        for scheme in (0, 1):  # blink's preferredColorScheme: dark, light
            found, console = probe(page, size, f"--blink-settings=preferredColorScheme={scheme}")
            where = f"{size}, scheme {scheme}: {found}"
            assert not console, console
            assert found["ready"], where
            assert found["canvases"] >= 6 and found["blank"] == 0, where
            assert expected <= set(found["sections"]), where
            assert found["links"] == len(found["sections"]), where
            assert found["resources"] == [], where
            assert found["overflow"] <= 0, where
            assert found["focusable"], where
            assert found["moved"].strip() not in ("", "--"), where
            assert " on the GPU" in found["told"], where
            assert found["opened"].startswith("uvmsim plan compared"), where
            assert found["cut"] == [], where
            assert "Tesla V100-SXM2-32GB, 1.074 GB usable of" in found["ran"] and "workload.batch=2" in found["ran"], where
            assert "usable memory of the GPU" in found["legend"], where
            assert found["map"] == [f"uvm_perf_fault_batch_count {n}" for n in (64, 128, 256)], where
            backgrounds.add(found["background"])
            print(f"ok: {size[0]} wide ({found['width']} inside), scheme {scheme}, {found['canvases']} charts")
    assert len(backgrounds) == 2, f"light and dark look the same: {backgrounds}"
    text = page.read_text()
    still = page.with_name("still.html")
    still.write_text(STILL % html.escape(text))
    dump, _ = browse(still, DESKTOP, "--dump-dom")
    bars = re.search(r'<pre id="found">(.*?)</pre>', dump)
    assert bars and float(bars[1]) > 300, "no picture without JavaScript"
    assert "https://" not in re.sub(r"http://www\.w3\.org\S*", "", text.split("<script")[0]), "the page refers to others"
    assert len(text) < 2_000_000, f"{len(text)} bytes"
    print("ok: without JavaScript")


def picture(page, size, path, section=""):
    browse(framed(page, size, section), size, f"--screenshot={path}")
    assert path.stat().st_size > 10_000, path


def take_pictures(uvmsim, folder, pictures):
    run(uvmsim, "run", "v100_dgx1", "--quiet", "-o", folder / "large", *[f"--set={value}" for value in LARGE])
    page = folder / "large.html"
    run(uvmsim, "report", folder / "large", "-o", page, "--title", "ResNet-1001, batch 60, one V100-32GB")
    picture(page, (1200, 1500), pictures / "report-desktop.png")
    picture(page, (1200, 1500), pictures / "report-tensors.png", "#tensors")
    picture(page, PHONE, pictures / "report-phone.png")


def main():
    uvmsim = Path(sys.argv[1]).resolve()
    if chromium() is None:
        print("skipped: there is no chromium (of Debian: apt-get install chromium)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check(make_page(uvmsim, Path(folder)))
        if "--pictures" in sys.argv:
            take_pictures(uvmsim, Path(folder), Path(sys.argv[sys.argv.index("--pictures") + 1]).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())

// The page of `uvmsim report`: builds itself from the data that stands in it.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { choice, h } from "./dom.js";
import { runSections, runsTable } from "./run.js";
import { adviceSection, comparisonSection, sweepSection, validationSection } from "./studies.js";
import { viewsSection } from "./views.js";

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const nav = document.querySelector("nav");

const perRun = h("div");
const studies = [
  ...data.advices.map(adviceSection),
  ...data.sweeps.map((sweep, i) => sweepSection(sweep, i + 1)),
  ...data.comparisons.map(comparisonSection),
  ...data.validations.map(validationSection),
  ...data.analyses.map(viewsSection),
];

function listSections() {
  nav.replaceChildren(...[...main.querySelectorAll("section")].map((s) => h("a", { href: `#${s.id}` }, s.querySelector("h2").textContent)));
}

function showRun(i) {
  perRun.replaceChildren(...runSections(data.runs[i]));
  listSections();
}

main.replaceChildren(
  ...(data.runs.length > 1 ? [runsTable(data.runs), choice("Show run", data.runs.map((r) => r.name), showRun)] : []),
  perRun, ...studies);
if (data.runs.length > 0) showRun(0);
listSections();
// The sections are newer than the address that asks for one of them; those above it still grow while they draw.
if (location.hash) requestAnimationFrame(() => setTimeout(() => document.getElementById(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" }), 100));
document.documentElement.dataset.ready = "true";

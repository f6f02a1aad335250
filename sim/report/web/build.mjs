// Bundles the page of `uvmsim report` into dist/: `npm ci && node build.mjs`. With --check it writes nothing and fails
// where dist/ is not what the sources give.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const result = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: { report: "src/main.js" },
  bundle: true, minify: true, write: false, outdir: "dist",
  target: ["chrome110", "firefox115", "safari16"], charset: "ascii", legalComments: "none",
});
const licence = readFileSync(`${import.meta.dirname}/node_modules/uplot/LICENSE`, "utf8");
const files = new Map(result.outputFiles.map((file) => [file.path.split("/").at(-1), file.text]));
files.set("LICENSE.uplot.txt", licence);

let stale = false;
mkdirSync(`${import.meta.dirname}/dist`, { recursive: true });
for (const [name, text] of files) {
  const path = `${import.meta.dirname}/dist/${name}`;
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`dist/${name} is not what src/ gives: run node build.mjs`);
    stale = true;
  }
}
process.exit(stale ? 1 : 0);

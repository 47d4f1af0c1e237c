// Measures the page as a viewer drives it, and prints figures: time of script from an event until
// the document has changed. Nothing leaves the page. `bench.html?steps=100000` measures a shorter
// trace.
import init, { start } from "./pkg/folioscope.js";

const BLOCKS = 4096;
const steps = Number(new URLSearchParams(location.search).get("steps")) || 1_000_000;
const figures = {};

const say = (words) => {
  document.getElementById("now").textContent = words;
};
const frame = () => new Promise((done) => requestAnimationFrame(done));
const until = async (holds) => {
  while (!holds()) await frame();
};
const ms = (number) => `${number.toFixed(number < 10 ? 2 : 1)} ms`;

// Adds a row; `unit` says how a number is written.
const report = (name, budget, times, unit = ms) => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const found = { median: at(0.5), most: at(0.95), worst: sorted.at(-1), rounds: sorted.length };
  figures[name] = found;
  const row = document.querySelector("#figures tbody").insertRow();
  for (const text of [name, budget, unit(found.median), unit(found.most), unit(found.worst)]) {
    row.insertCell().textContent = text;
  }
};

// Until the page has answered an event: it works in microtasks, without a pause in between.
const answered = async () => {
  for (let at = 0; at < 20; at++) await null;
};
// Until it is ready for the next one: after long work it takes messages only when it was its turn.
const idle = async () => {
  for (let at = 0; at < 3; at++) await new Promise((done) => setTimeout(done));
};
// Time of script, then of style and layout, for one event.
const measure = async (act) => {
  const begin = performance.now();
  act();
  await answered();
  const script = performance.now();
  document.getElementById("app").getBoundingClientRect();
  const all = performance.now();
  await idle();
  return [script - begin, all - script];
};

// One file of so many blocks in single pages, written and synced until there are enough steps.
// Blocks are small, so that the page runs it: it holds no more than 64 MiB.
const scenario = (wanted) => {
  const size = `${BLOCKS / 2}k`;
  const perRound = BLOCKS * 13;
  const ops = Array.from(
    { length: Math.max(1, Math.round(wanted / perRound)) },
    () => `[[op]]\ndo = "pwrite"\nlen = "${size}"\nthen = "fsync"\n`,
  );
  return `version = 0
title = "So many steps"
profile = "linux-6.18"

[world]
page_size = 512
block_size = 512
max_folio_order = 0

[[file]]
name = "f"

${ops.join("\n")}`;
};

const open = async (text) => {
  const input = document.getElementById("file");
  const files = new DataTransfer();
  files.items.add(new File([text], "bench.toml"));
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  const there = () => document.querySelector("h1:not(#bench-title)")?.textContent;
  await until(() => there() === "So many steps" || document.querySelector("#alert p"));
  const alert = document.querySelector("#alert p")?.textContent;
  if (alert) throw new Error(alert);
  await until(() => document.querySelector("#stage svg"));
  await frame();
};

const scrubber = () => document.getElementById("scrubber");
const seek = (at) => {
  scrubber().value = at;
  scrubber().dispatchEvent(new Event("input", { bubbles: true }));
};

const firstPicture = async () => {
  const times = [];
  for (let round = 0; round < 5; round++) {
    const page = document.createElement("iframe");
    page.title = "the page";
    page.width = 1440;
    page.height = 780;
    const begin = performance.now();
    page.src = `index.html?round=${round}`;
    document.body.append(page);
    const late = () => performance.now() - begin > 10_000;
    await until(() => page.contentDocument?.querySelector("#stage svg") || late());
    times.push(performance.now() - begin);
    page.remove();
    if (late()) break;
  }
  report("first picture, in a frame", "≤ 1000 ms", times);
};

const stepping = async () => {
  const [script, layout] = [[], []];
  const last = Number(scrubber().max);
  for (const share of [0.1, 0.45, 0.8]) {
    seek(Math.floor(last * share));
    await frame();
    for (let round = 0; round < 60; round++) {
      const [a, b] = await measure(() => document.getElementById("forward").click());
      script.push(a);
      layout.push(b);
      if (round % 10 === 9) await frame();
    }
  }
  report(`step, ${BLOCKS} blocks: script`, "≤ 4 ms", script);
  report(`step, ${BLOCKS} blocks: style and layout`, "", layout);
};

const playing = async () => {
  const speed = document.getElementById("speed");
  speed.value = String(speed.options.length - 1);
  speed.dispatchEvent(new Event("change", { bubbles: true }));
  document.getElementById("grain").value = "detail";
  document.getElementById("grain").dispatchEvent(new Event("change", { bubbles: true }));
  seek(Math.floor(Number(scrubber().max) / 3));
  await frame();
  document.getElementById("play").click();
  const times = [];
  const end = performance.now() + 3000;
  let before = await frame();
  while (before < end) {
    const now = await frame();
    times.push(now - before);
    before = now;
  }
  document.getElementById("play").click();
  await answered();
  const all = times.reduce((sum, one) => sum + one, 0);
  report("playing: from frame to frame", "16.7 ms", times);
  report("playing: frames a second", "60", [times.length * 1000 / all], (n) => n.toFixed(1));
};

const seeking = async () => {
  const last = Number(scrubber().max);
  const times = [];
  // The same places each time, all over the trace.
  for (let round = 1; round <= 100; round++) {
    const at = Math.floor(last * ((round * 0.618034) % 1));
    times.push((await measure(() => seek(at)))[0]);
    if (round % 10 === 0) await frame();
  }
  report(`seek in ${last.toLocaleString("en")} steps: script`, "≤ 16 ms", times);
};

try {
  await firstPicture();
  await init();
  start(() => new Worker(new URL("engine.js", import.meta.url), { type: "module" }));
  await until(() => document.querySelector("#stage svg"));
  say("Running the engine…");
  const begin = performance.now();
  await open(scenario(steps));
  report("run, fold and draw the trace", "", [performance.now() - begin]);
  say("Measuring…");
  await stepping();
  await playing();
  await seeking();
  say("Done.");
} catch (error) {
  say(`Failed: ${error}`);
}
document.getElementById("figures").dataset.done = JSON.stringify(figures);

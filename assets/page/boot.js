// Loads the page's module and starts the page; says so in words when that fails.
import init, { start } from "./pkg/folioscope.js";

// The engine is loaded when a run is asked for that does not lie beside the page.
const engine = () => new Worker(new URL("engine.js", import.meta.url), { type: "module" });

// The program serves the page on this machine, at a port that may be another program's tomorrow:
// nothing may stay behind there.
const local = ["127.0.0.1", "localhost"].includes(location.hostname);
const workers = local ? undefined : navigator.serviceWorker;

// Whether a newer build takes over, after which this page loads again as that one.
async function isOutdated() {
  const waiting = (await workers?.getRegistration())?.waiting;
  if (!waiting || !workers.controller) return false;
  workers.addEventListener("controllerchange", () => location.reload(), { once: true });
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => done(data);
    waiting.postMessage("take over", [port2]);
    setTimeout(done, 3000, false);
  });
}

// The lesson that the address names, or the first one, comes while the module does.
function preload() {
  const [, number] = /^#1\/L(\d+)\//.exec(location.hash) ?? [, location.hash ? "" : "7"];
  if (number === "") return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "preload", as: "fetch", crossOrigin: "", href: `replies/lesson-${number}` });
  document.head.append(link);
}

try {
  if (!(await isOutdated())) {
    preload();
    await init();
    start(engine);
    // Without it the page needs its network, and nothing else is lost.
    workers?.register("sw.js", { updateViaCache: "none" }).catch(() => {});
  }
} catch (error) {
  console.error(error);
  const words = document.createElement("p");
  words.setAttribute("role", "alert");
  words.textContent =
    `Folioscope could not start (${error}). Reload the page, or try a current Firefox, Chrome or Safari.`;
  document.getElementById("app").replaceChildren(words);
}

// Loads the page's module and starts the page; says so in words when that fails.
import init, { start } from "./pkg/folioscope.js";

// The engine is loaded when a run is asked for that does not lie beside the page.
const engine = () => new Worker(new URL("engine.js", import.meta.url), { type: "module" });

try {
  await init();
  start(engine);
} catch (error) {
  console.error(error);
  const words = document.createElement("p");
  words.setAttribute("role", "alert");
  words.textContent =
    `Folioscope could not start (${error}). Reload the page, or try a current Firefox, Chrome or Safari.`;
  document.getElementById("app").replaceChildren(words);
}

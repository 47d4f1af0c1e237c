// Starts the engine in a worker, loads the page's module, and starts the page; says so in words
// when that fails.
const engine = new Worker(new URL("engine.js", import.meta.url), { type: "module" });

try {
  const { default: init, start } = await import("./pkg/folioscope.js");
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

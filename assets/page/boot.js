// Loads the WebAssembly module and starts the page; says so in words when that fails.
import init, { start } from "./pkg/folioscope.js";

try {
  await init();
  start();
} catch (error) {
  console.error(error);
  const words = document.createElement("p");
  words.setAttribute("role", "alert");
  words.textContent =
    `Folioscope could not start (${error}). Reload the page, or try a current Firefox, Chrome or Safari.`;
  document.getElementById("app").replaceChildren(words);
}

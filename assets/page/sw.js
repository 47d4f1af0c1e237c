// Keeps the page of one build whole, so that it opens without a network after the first visit.
//
// `cargo xtask web` writes the files of the build with the checksum of each, and the checksum of
// all, into the two lines below. A build is taken as a whole or not at all: a file that is not the
// one that was built ends the installation, and whoever has a page open stays with its build.
const BUILD = "";
const FILES = {};

const ours = `folioscope ${new URL(self.registration.scope).pathname} `;
const url = (name) => new URL(name, self.registration.scope).href;
const names = new Map(Object.keys(FILES).map((name) => [url(name), name]));
names.set(url("./"), "index.html");

async function fetched(name) {
  const response = await fetch(url(name), { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  const bytes = await response.arrayBuffer();
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== FILES[name]) throw new Error(`${name} is of another build`);
  const headers = { "Content-Type": response.headers.get("Content-Type") ?? "" };
  return new Response(bytes, { headers });
}

async function install() {
  const names = Object.keys(FILES);
  const responses = await Promise.all(names.map(fetched));
  const cache = await caches.open(ours + BUILD);
  await Promise.all(names.map((name, at) => cache.put(url(name), responses[at])));
}

async function tidy() {
  const all = await caches.keys();
  const old = all.filter((name) => name.startsWith(ours) && name !== ours + BUILD);
  await Promise.all(old.map((name) => caches.delete(name)));
}

async function answer(request, name) {
  const cache = await caches.open(ours + BUILD);
  // The browser may have thrown the build away; the network has it, or nobody.
  return (await cache.match(url(name))) ?? fetch(request);
}

// A page that begins asks whether this build may take over from the one before: only where no other
// page of it is open, so that nobody gets files of two builds.
async function takeOver(port) {
  const all = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const alone = all.filter((one) => one.url.startsWith(self.registration.scope)).length < 2;
  port.postMessage(alone);
  if (alone) await self.skipWaiting();
}

self.addEventListener("message", (event) => event.waitUntil(takeOver(event.ports[0])));
self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(tidy()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const name = names.get(request.url.split(/[?#]/)[0]);
  if (request.method === "GET" && name !== undefined) event.respondWith(answer(request, name));
});

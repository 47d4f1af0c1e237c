// The worker: hands messages to the engine, in order, and its replies back.
import init, { answer } from "./pkg/engine.js";

const ready = init();

self.onmessage = async ({ data }) => {
  try {
    await ready;
    const reply = answer(data);
    self.postMessage(reply, [reply.buffer]);
  } catch (error) {
    self.postMessage(`${error}`);
  }
};

// Questions to the server over one WebSocket. Of each kind the latest counts: an answer to an
// earlier question of the same kind is dropped, here and there.

import {toast} from "./dom.js";

export class Talk {
  constructor(onchange) {
    this.number = 0;
    this.waiting = new Map();   // by id
    this.latest = new Map();    // kind and channel → id
    this.queue = [];
    this.onchange = onchange;
    this.connect();
  }

  connect() {
    const token = new URLSearchParams(location.search).get("token") ?? "";
    const address = new URL(`talk?token=${encodeURIComponent(token)}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onopen = () => { this.onchange(true); for (const text of this.queue.splice(0)) this.socket.send(text); };
    this.socket.onclose = () => {
      this.onchange(false);
      for (const {reject} of this.waiting.values()) reject(new Superseded());
      this.waiting.clear();
      setTimeout(() => this.connect(), 1500);
    };
  }

  // The answer, {…facts, arrays: {name: {shape, data}}}; rejected if superseded or refused.
  ask(kind, body, channel = "") {
    const id = ++this.number, key = `${kind} ${channel}`;
    const before = this.waiting.get(this.latest.get(key));
    if (before) { this.waiting.delete(this.latest.get(key)); before.reject(new Superseded()); }
    this.latest.set(key, id);
    const text = JSON.stringify({id, ask: kind, channel, ...body});
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text); else this.queue.push(text);
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }

  receive(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    for (const array of Object.values(facts.arrays)) {
      const size = array.shape.reduce((a, b) => a * b, 1);
      array.data = new Float32Array(buffer, 4 + length + 4 * array.start, size);
    }
    if (facts.hello) this.hello = facts.hello;
    if (facts.compiling) toast(`compiling ${facts.compiling}: once, up to 3 s; it is kept`);
    const asked = this.waiting.get(facts.id);
    if (!asked) return;
    this.waiting.delete(facts.id);
    if (facts.error) asked.reject(new Refused(facts.error)); else asked.resolve(facts);
  }
}

// The questions of one panel. When the panel has gone its timers may still ask, and nobody hears:
// a late question must not supersede one of the next panel.
export class Line {
  constructor(talk) { this.talk = talk; this.open = true; }
  get hello() { return this.talk.hello; }
  ask(kind, body, channel) { return this.open ? this.talk.ask(kind, body, channel) : new Promise(() => {}); }
  close() { this.open = false; }
}

export class Superseded extends Error {}
export class Refused extends Error {}

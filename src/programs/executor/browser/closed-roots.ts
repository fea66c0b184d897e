/// <reference lib="dom" />
/**
 * Makes closed shadow roots open ones, so that what is in them can be read and clicked like the rest of a page. A root that the HTML itself
 * declares closed (`shadowrootmode="closed"`) is made by the parser, past every script, and stays closed. Must not know sessions.
 */

/** Runs in each document before its own scripts. It is sent as source text, so it uses nothing outside its body. */
export function openClosedRoots(): void {
  // A proxy prints as what it stands for: scripts that look whether this is the browser's own function find that it is.
  Element.prototype.attachShadow = new Proxy(Element.prototype.attachShadow, {
    apply: (attach, host, [init, ...more]) =>
      Reflect.apply(attach, host, [init?.mode === 'closed' ? { ...init, mode: 'open' } : init, ...more]),
  });
}

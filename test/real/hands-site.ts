/** An order in three pages with a last one, as a shop on loopback has it, and models that fill it by what they read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ModelRequest, Script, ToolCall } from '../support/model-server/script.ts';
import { text, tools } from '../support/model-server/script.ts';

export type Order = Readonly<Record<string, string>>;

export interface Shop {
  readonly origin: string;
  /** What was ordered, in order. */
  readonly orders: readonly Order[];
  close(): void;
}

/** Where fields and buttons are in a picture of 1280 × 800. */
export const places = { first: '300, 150', second: '300, 250', third: '118, 345', button: '180, 450' } as const;

const at = (top: number, size = 'width:400px;height:60px') =>
  `style="position:absolute;left:100px;top:${top}px;${size};font:20px system-ui"`;
const field = (label: string, name: string, top: number, type = 'text') =>
  `<label ${at(top - 28)}>${label}</label><input aria-label="${label}" name="${name}" type="${type}" ${at(top)}>`;

const pages: Readonly<Record<string, string>> = {
  '/': `<h1>Who is it for?</h1>${field('Name', 'name', 120)}${field('E-mail', 'mail', 220, 'email')}<button formaction="/where" ${at(420)}>Next</button>`,
  '/where': `<h1>Where to?</h1>${field('Town', 'town', 120)}<label ${at(192)}>Country</label><select aria-label="Country" name="country" ${at(220)}><option>France<option>Poland<option>Spain</select>
    <label ${at(330)}><input aria-label="A gift" type="checkbox" name="gift" value="yes" style="width:30px;height:30px"> A gift</label><button formaction="/pay" ${at(420)}>Next</button>`,
  '/pay': `<h1>How is it paid?</h1>${field('PIN', 'pin', 120, 'password')}${field('Note', 'note', 220)}<button formaction="/thanks" ${at(420)}>Order</button>`,
};

export async function openShop(): Promise<Shop> {
  const orders: Order[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { pathname } = new URL(request.url ?? '/', 'http://shop');
    const sent = Object.fromEntries(new URLSearchParams(body));
    const clean = (words: string) => words.replace(/[<>&"]/g, ' ');
    const kept = Object.entries(sent).map(
      ([name, value]) => `<input type=hidden name="${name}" value="${clean(value)}">`,
    );
    let inside = pages[pathname];
    if (pathname === '/thanks' && request.method === 'POST') {
      orders.push(sent);
      inside = `<h1>Thank you</h1><p>Order ${orders.length} for ${clean(sent.name ?? '')}, ${clean(sent.town ?? '')}</p>`;
    }
    response.writeHead(inside === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(
      `<!doctype html><title>Shop</title><body style="font:20px system-ui;margin:32px 100px"><form method=post>${kept.join('')}${inside ?? ''}</form>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Opens loopback to the browser; everything else is left to what Gantry does of itself: what types a PIN asks. */
export function openLoopback(workspace: string): void {
  const rules = ['navigate', '*_click', 'form_input', 'key'].map(
    (member) => `  - when: {tool: browser, member: "${member}", host: "127.0.0.1:*"}\n    then: allow\n`,
  );
  mkdirSync(join(workspace, '.gantry'), { recursive: true });
  writeFileSync(join(workspace, '.gantry', 'policy.yaml'), `rules:\n${rules.join('')}`);
}

/** As the models' own form has members: by their names in a toolset, or as functions. */
export type Form = 'native' | 'functions';

/**
 * A model that has read how the order goes: it looks at each page, finds fields by role and name, and fills them. Before it orders it waits
 * `pauseSeconds`, so that somebody can step in; what it says at the end is what it then reads.
 */
export function orders(shop: Shop, order: Order, form: Form, pauseSeconds: number): Script {
  let page = '';
  let step = 0;
  const call = (member: string, input: Record<string, unknown>): ToolCall =>
    form === 'native' ? { toolset: 'browser', name: member, input } : { name: `browser_${member}`, input };
  const found = (role: string, name: string) => {
    const line = page.split('\n').find((one) => one.includes(role) && one.includes(`"${name}"`));
    const ref = /ref_\d+/.exec(line ?? '')?.[0];
    if (ref === undefined) throw new Error(`The model sees no ${role} "${name}" in ${page.slice(0, 1500)}`);
    return { type: 'ref', ref };
  };
  const look = () => [call('read_page', { filter: 'all' })];
  const fill = (role: string, name: string, value: string | boolean) =>
    call('form_input', { target: found(role, name), value });
  const press = (name: string) => call('left_click', { target: found('button', name) });
  const moves: readonly (() => ToolCall[])[] = [
    () => [call('navigate', { url: `${shop.origin}/` })],
    look,
    () => [fill('textbox', 'Name', order.name ?? ''), fill('textbox', 'E-mail', order.mail ?? ''), press('Next')],
    look,
    () => [fill('textbox', 'Town', order.town ?? ''), fill('combobox', 'Country', order.country ?? ''), press('Next')],
    look,
    () => [call('left_click', { target: found('textbox', 'PIN') }), call('type', { text: order.pin ?? '' })],
    () => [call('wait', { duration: pauseSeconds })],
    look,
    () => [press('Order')],
    () => [call('get_page_text', {})],
  ];
  return ({ toolResults }: ModelRequest) => {
    const told = toolResults.map((one) => one.text).join('\n');
    if (/ref_\d+/.test(told)) page = told;
    const move = moves[step];
    step += 1;
    return move === undefined ? text(`It is ordered. The page says: ${told}`) : tools(...move());
  };
}

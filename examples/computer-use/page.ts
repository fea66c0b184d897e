/** The same from a page: the client calls the page's own origin, and the page's server passes the calls on (vite.config.ts). */
import { ComputerUseClient } from '../../src/client/computer-use.ts';

const client = new ComputerUseClient();
const [form, list, output] = [find('form'), find('ol'), find('output')];

form.addEventListener('submit', (event) => {
  event.preventDefault();
  list.replaceChildren();
  read(String(new FormData(form).get('url'))).then(show, (fault: Error) => show(fault.message));
});

async function read(url: string): Promise<string> {
  const run = await client.executeDirect(
    [
      { toolset: 'browser', member: 'navigate', input: { url } },
      { toolset: 'browser', member: 'get_page_text', input: {} },
    ],
    { target_scope: 'browser', metadata: { name: 'Read a page' } },
  );
  client.subscribeToRun(run.run_id, ({ message }) => {
    const item = document.createElement('li');
    item.textContent = message;
    list.append(item);
  });
  const ended = await client.waitForRun(run.run_id);
  return ended.error?.message ?? ended.result?.text ?? '';
}

function show(text: string): void {
  output.textContent = text;
}

function find<Name extends keyof HTMLElementTagNameMap>(name: Name): HTMLElementTagNameMap[Name] {
  const element = document.querySelector(name);
  if (element === null) throw new Error(`The page has no ${name}.`);
  return element;
}

/** The root page of the edge: a short page for browsers, the same as JSON for everybody else. Pure. Must not know callers. */
import { botIdMark, type EdgeAbout } from '../../contracts/edge/routes.ts';
import { mcpVersions } from '../../contracts/tool-server/mcp.ts';
import { escapeHtml, page } from '../../kit/http/plain-page.ts';
import { offeredEvents } from './offered-events.ts';

/** `edgeUrl` without a slash at the end. */
export function edgeAbout(edgeUrl: string): EdgeAbout {
  return {
    servers: [
      {
        name: 'agents',
        title: 'Agents',
        url: `${edgeUrl}/mcp`,
        scope: 'agents:read',
        about: 'Reads bots, runs and boards, and offers events of all bots.',
      },
      {
        name: 'bots',
        title: 'One bot',
        url: `${edgeUrl}/mcp/bots/${botIdMark}`,
        scope: 'bots:act',
        about: 'Talks to that bot, reads its runs, and offers its events.',
      },
    ],
    protocolVersions: [...mcpVersions],
    events: offeredEvents.map(({ name, title, description, servers }) => ({
      event: name,
      title,
      description,
      servers: [...servers],
    })),
  };
}

const code = (text: string) => `<code>${escapeHtml(text)}</code>`;
const cells = (...each: readonly string[]) => `<tr>${each.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
const table = (heads: readonly string[], rows: readonly string[]) =>
  `<table>\n<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>\n<tbody>\n${rows.join('\n')}\n</tbody>\n</table>`;

export function edgePageOf({ servers, protocolVersions, events }: EdgeAbout): string {
  const onWhich = (names: readonly string[]) =>
    servers
      .filter(({ name }) => names.includes(name))
      .map(({ title }) => title)
      .join(', ');
  const parts = [
    '<p>MCP apps connect here to follow what a person’s bots do, and to talk to one of them.</p>',
    '<h2>Servers</h2>',
    table(
      ['Server', 'Address', 'Scope'],
      servers.map(({ title, url, scope, about }) =>
        cells(`${escapeHtml(title)}<br><small>${escapeHtml(about)}</small>`, code(url), code(scope)),
      ),
    ),
    '<p>An app signs people in with the provider named in the first answer, or sends an API key that <code>gantry tools approve</code> made.</p>',
    '<h2>Protocol versions</h2>',
    `<p>${protocolVersions.map(code).join(' ')}</p>`,
    '<h2>Events</h2>',
    table(
      ['Event', 'When', 'Server'],
      events.map(({ event, title, description, servers: names }) =>
        cells(code(event), `${escapeHtml(title)}<br><small>${escapeHtml(description)}</small>`, onWhich(names)),
      ),
    ),
  ];
  return page('Events and tools for apps', parts.join('\n'));
}

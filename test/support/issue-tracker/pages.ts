/** The tracker for people, a page of forms, and the same as JSON for programs without MCP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyOf, escaped, formOf, html, json } from './exchange.ts';
import type { Issue, Issues } from './issues.ts';

const seeOther = (response: ServerResponse, to: string) => void response.writeHead(303, { location: to }).end();

/** True where the request was for a page. */
export async function servePages(
  issues: Issues,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<boolean> {
  const at = `${request.method} ${url.pathname}`;
  const [, digits, act] = /^\w+ \/issues\/(\d+)(?:\/(comments|close))?$/.exec(at) ?? [];
  const number = Number(digits);
  if (at === 'GET /') html(response, 200, 'The issue tracker', listPage(issues.list()));
  else if (at === 'POST /api/issues') {
    const { project, title, body, labels, author } = JSON.parse(await bodyOf(request)) as Partial<Issue>;
    const opened = issues.open({
      project: String(project),
      title: String(title),
      ...(body === undefined ? {} : { body }),
      ...(labels === undefined ? {} : { labels }),
      ...(author === undefined ? {} : { author }),
    });
    json(response, 201, { ...opened.issue, eventId: opened.happening.eventId });
  } else if (at === 'GET /api/issues') json(response, 200, { issues: issues.list() });
  else if (at === 'POST /issues') {
    const form = await formOf(request);
    const labels = (form.get('labels') ?? '').split(',').map((label) => label.trim());
    const { issue } = issues.open({
      project: form.get('project') ?? '',
      title: form.get('title') ?? '',
      body: form.get('body') ?? '',
      labels: labels.filter((label) => label !== ''),
      author: form.get('author') || 'somebody',
    });
    seeOther(response, `/issues/${issue.number}`);
  } else if (digits === undefined) return false;
  else if (issues.get(number) === undefined) html(response, 404, 'No such issue', '');
  else if (request.method === 'GET') issuePage(response, issues.get(number) as Issue);
  else if (act === 'comments') {
    const form = await formOf(request);
    issues.comment(number, { author: form.get('author') || 'somebody', text: form.get('text') ?? '' });
    seeOther(response, `/issues/${number}`);
  } else if (act === 'close') {
    issues.close(number);
    seeOther(response, `/issues/${number}`);
  } else return false;
  return true;
}

function listPage(all: readonly Issue[]): string {
  const rows = all.map(
    ({ number, project, title, state }) =>
      `<li><a href="/issues/${number}">${escaped(project)} #${number}: ${escaped(title)}</a> (${state})</li>`,
  );
  return `<form method="post" action="/issues">
<label>Project <input name="project" required></label><label>Title <input name="title" required></label>
<label>Text <textarea name="body"></textarea></label><label>Labels <input name="labels"></label>
<label>Your name <input name="author"></label><button>Open the issue</button></form>
<h2>${all.length} issues</h2><ul>${rows.join('')}</ul>`;
}

function issuePage(response: ServerResponse, issue: Issue): void {
  const comments = issue.comments.map(({ author, text }) => `<li><b>${escaped(author)}</b>: ${escaped(text)}</li>`);
  const labels = issue.labels.length === 0 ? '' : ` · ${issue.labels.map(escaped).join(', ')}`;
  html(
    response,
    200,
    `${issue.project} #${issue.number}: ${issue.title}`,
    `<p>${escaped(issue.author)} · ${issue.state}${labels}</p><p>${escaped(issue.body)}</p><ul>${comments.join('')}</ul>
<form method="post" action="/issues/${issue.number}/comments"><label>Comment <input name="text" required></label>
<button>Comment</button></form>
<form method="post" action="/issues/${issue.number}/close"><button>Close the issue</button></form>
<p><a href="/">All issues</a></p>`,
  );
}

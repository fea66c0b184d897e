/** The pages of the docs in the order in which they are listed, and the one that belongs to each page of the app. */

interface Chapter {
  readonly title: string;
  readonly pages: readonly (readonly [page: string, title: string])[];
}

/** A page is named by its file below `docs/`, without the ending. */
export const contents: readonly Chapter[] = [
  {
    title: 'Begin',
    pages: [
      ['tutorial', 'Tutorial'],
      ['concepts', 'Concepts'],
      ['how-to/local-model', 'Use a model on your computer'],
      ['how-to/answer-from-phone', 'Answer from your phone'],
      ['how-to/three-reviewers', 'Three reviewers on a change'],
      ['how-to/second-computer', 'Add a second computer'],
      ['how-to/phone-number', 'Give a bot a phone number'],
      ['glossary', 'Glossary'],
    ],
  },
  {
    title: 'Use',
    pages: [
      ['factory', 'Bots, teams and messages'],
      ['agent-programs', 'Agent programs'],
      ['workflows', 'Workflows'],
      ['approvals', 'Approvals and the policy'],
      ['models', 'Hosted bots and models'],
      ['acp', 'Agents over ACP'],
      ['tool-server', 'Tools'],
      ['connectors', 'Connectors'],
      ['automation', 'Automation'],
      ['computer-use', 'Computer use'],
      ['computers', 'Several computers'],
      ['hosted-computers', 'Hosted computers'],
      ['phone', 'The phone'],
      ['notifications', 'Notifications'],
      ['work-engine', 'Mail, plans, leases, ledger'],
      ['work-queue', 'The work queue'],
      ['edge', 'Outside apps'],
      ['desktop', 'The desktop app'],
    ],
  },
  {
    title: 'Run',
    pages: [
      ['operating', 'Operating Gantry'],
      ['deploy', 'Deploying a cloud'],
      ['configuration', 'Configuration'],
      ['identity', 'People, sign-in and keys'],
      ['security', 'Security model'],
      ['sandboxes', 'Sandboxes'],
      ['accounts', 'Accounts of agent programs'],
      ['link', 'The link'],
      ['replicas', 'Replicas'],
      ['scale', 'Scale'],
      ['limits', 'Known limits'],
    ],
  },
  {
    title: 'Reference',
    pages: [
      ['cli', 'The command line'],
      ['api', 'The HTTP API'],
      ['api/factory', 'API: teams, bots and work'],
      ['api/approvals', 'API: approvals'],
      ['api/tool-server', 'API: tools'],
      ['api/computer-use', 'API: computer use'],
      ['api/hosted-computers', 'API: hosted computers'],
      ['api/work-queue', 'API: the work queue'],
      ['api/connector-events', 'API: connectors and rules'],
      ['api/phone', 'API: the phone'],
      ['api/notifications', 'API: notifications'],
      ['api/usage', 'API: usage'],
      ['api/identity', 'API: sign-in, keys, administration'],
      ['api/link', 'API: computers and pairing'],
      ['api/metrics', 'API: figures for Prometheus'],
      ['architecture', 'Architecture'],
      ['chaos', 'The chaos suite'],
      ['dependencies', 'Dependencies'],
    ],
  },
];

export const firstPage = 'tutorial';

export const titleOf = (page: string): string | null =>
  contents.flatMap(({ pages }) => pages).find(([name]) => name === page)?.[1] ?? null;

/** Where the help of a page of the app begins; the longest address that fits. */
const help: readonly (readonly [path: string, page: string])[] = [
  ['/floor', 'factory'],
  ['/work', 'workflows'],
  ['/inbox', 'approvals'],
  ['/tools', 'tool-server'],
  ['/connectors', 'connectors'],
  ['/computers', 'computer-use'],
  ['/phone', 'phone'],
  ['/ledger', 'work-engine'],
  ['/queue', 'work-queue'],
  ['/pair', 'computers'],
  ['/settings', 'configuration'],
  ['/settings/set-up', 'tutorial'],
  ['/settings/account', 'identity'],
  ['/settings/keys', 'identity'],
  ['/settings/sign-ins', 'connectors'],
  ['/settings/computers', 'computers'],
  ['/settings/notifications', 'notifications'],
  ['/settings/usage', 'models'],
  ['/settings/desktop', 'desktop'],
];

export function helpFor(path: string): string {
  const fits = help.filter(([start]) => path === start || path.startsWith(`${start}/`));
  return fits.sort(([a], [b]) => b.length - a.length)[0]?.[1] ?? firstPage;
}
